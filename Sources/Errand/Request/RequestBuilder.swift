internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Makes the snapshot of a request: request, service and config become one ``PreparedRequest``.
///
/// Runs where the request may be touched. Throws what the request's own members and the URL filters throw, and
/// ``NetworkError`` for what cannot be sent.
struct RequestBuilder {
    let send: Send

    private var config: ConfigSnapshot { send.config }

    func prepare(_ request: some Request, step: CacheStep = .whole) throws -> PreparedRequest {
        try request.check()
        let choices = Choices(request, of: send)
        var context = send.context
        let outgoing: OutgoingRequest
        let origin: String
        let login: PinnedLogin?
        if let custom = try request.customURLRequest() {
            outgoing = try OutgoingRequest(custom)
            origin = try URLParts(absolute: outgoing.url.absoluteString)?.originKey ?? outgoing.url.origin
            login = PinnedLogin(choices, of: send) { outgoing.headers }
        } else {
            (outgoing, origin) = try build(request, choices: choices, context: &context)
            login = PinnedLogin(choices, of: send) { request.headers }
        }
        context.url = outgoing.url
        try outgoing.validate()
        return PreparedRequest(
            request,
            of: send,
            as: context,
            outgoing: outgoing,
            origin: origin,
            choices: choices,
            login: login,
            step: step
        )
    }

    private func build(
        _ request: some Request,
        choices: Choices,
        context: inout RequestContext
    ) throws -> (OutgoingRequest, origin: String) {
        let method = request.method
        var headers = request.usesBaseHeaders ? config.value.headers.merging(send.service.headers) : HTTPHeaders()
        if let value = choices.authorization.value.fieldValue { headers["Authorization"] = value }
        headers.merge(request.headers)
        switch request.idempotencyKey.source {
        case .absent: break
        case .automatic: headers["Idempotency-Key"] = UUID().uuidString
        case .value(let key): headers["Idempotency-Key"] = key
        }
        var parts = try url(of: request)
        let filters = config.value.urlFilters.and(send.service.urlFilters)
        if !filters.isEmpty {
            var url = try parts.url()
            for filter in filters {
                context.url = url
                url = try filter.filter(url, for: context)
            }
            guard let filtered = try URLParts(absolute: url.absoluteString) else {
                throw NetworkError(.invalidURL("a URL filter made one without a scheme"))
            }
            parts = filtered
        }
        let encoding = request.parameterEncoding
        parts.append(encodedQuery: encoding.encodedPairs(try request.query.values(dates: encoding.dates)))
        let base = request.usesBaseParameters ? send.service.parameters.over(config.value.parameters) : Parameters()
        var parameters = try request.parameters
        let body = try request.body
        if !body.isAutomatic, parameters.areOwnProperties { parameters = Parameters() }
        let values = try parameters.over(base).values(dates: encoding.dates)
        var content = try ParameterPlacement(body: body, method: method, encoding: encoding).place(values, in: &parts)
        if let type = content.type, !headers.contains("Content-Type") { headers.add("Content-Type", type) }
        if case .data(let data) = content.body, data.isEmpty { content.body = .empty }
        if parts.path.isEmpty { parts.path = "/" }
        let url = try parts.url()
        return (OutgoingRequest(method: method, url: url, headers: headers, body: content.body), parts.originKey)
    }

    /// The URL before filters and parameters: an absolute path as it is, else base and path joined.
    private func url(of request: some Request) throws -> URLParts {
        let path = request.path
        if let absolute = try URLParts(absolute: path) { return absolute }
        let base = try base(usesCDN: request.usesCDN)
        guard let base else {
            throw NetworkError(
                .invalidBaseURL("the path is relative, and neither its service nor the config has a base URL")
            )
        }
        var parts: URLParts
        switch base.parts {
        case .success(let found): parts = found
        case .failure(let boxed): throw NetworkError(boxed.reason)
        }
        parts.append(path)
        return parts
    }

    private func base(usesCDN: Bool) throws -> BaseURL? {
        if let name = send.service.baseURLVariable, let text = config.value.environment[name], !text.isEmpty {
            return BaseURL(text: text)
        }
        guard usesCDN else { return send.service.baseURL ?? config.value.baseURL }
        guard let cdn = send.service.cdnURL ?? (send.service.baseURL == nil ? config.value.cdnURL : nil) else {
            throw NetworkError(
                .invalidBaseURL("the request wants the CDN, and neither its service nor the config has its URL")
            )
        }
        return cdn
    }
}
