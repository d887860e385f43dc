internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Makes the snapshot of a request: request, service and config become one ``PreparedRequest``.
///
/// Runs where the request may be touched. Throws what the request's own members and the URL filters throw, and
/// ``NetworkError`` for what cannot be sent.
struct RequestBuilder {
    let config: NetworkConfig

    func prepare<R: Request>(
        _ request: R,
        for context: RequestContext,
        accessories: AccessoryChain,
        step: CacheStep = .whole
    ) throws -> PreparedRequest {
        try request.check()
        let service = request.service
        let choices = Choices(request, service: service, config: config)
        var context = context
        let custom = try request.customURLRequest()
        let outgoing =
            try custom.map { try OutgoingRequest($0) }
            ?? build(request, service: service, choices: choices, context: &context)
        context.url = outgoing.url
        try outgoing.validate()
        let filter = choices.filter.value
        return PreparedRequest(
            context: context,
            outgoing: outgoing,
            choices: choices,
            secrets: config.secrets,
            acceptance: request.acceptance,
            adapters: config.adapters + service.adapters,
            interceptors: config.interceptors + service.interceptors,
            sendInterceptors: config.sendInterceptors + service.sendInterceptors,
            login: login(choices, service: service) { custom == nil ? request.headers : outgoing.headers },
            accessories: accessories,
            decoder: service.decoder ?? config.decoder,
            priority: request.priority,
            allowsCellularAccess: request.allowsCellularAccess,
            cacheIdentity: request.cacheIdentity,
            cacheUse: CacheUse(choices.cachePolicy.value, step: step, cache: config.cache),
            duplicatePolicy: request.duplicatePolicy,
            guarding: guarding(filter, before: request.formatter)
        )
    }

    /// What reads the body next: the formatter behind a filter that passes it on, else the filter.
    private func guarding(
        _ filter: any ResponseFilter,
        before formatter: some ResponseFormatter
    ) -> JSONGuard.Strictness {
        guard filter is PassthroughFilter else { return filter.guardsItself ? .nothing : .traps }
        if formatter.readsJSON { return .everything }
        return formatter.guardsItself ? .nothing : .traps
    }

    private func build<R: Request>(
        _ request: R,
        service: Service,
        choices: Choices,
        context: inout RequestContext
    ) throws -> OutgoingRequest {
        let method = request.method
        var headers = request.usesBaseHeaders ? config.headers.merging(service.headers) : HTTPHeaders()
        if let value = choices.authorization.value.fieldValue { headers["Authorization"] = value }
        headers.merge(request.headers)
        switch request.idempotencyKey.source {
        case .absent: break
        case .automatic: headers["Idempotency-Key"] = UUID().uuidString
        case .value(let key): headers["Idempotency-Key"] = key
        }
        var parts = try url(of: request, service: service)
        let filters = config.urlFilters + service.urlFilters
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
        let base = request.usesBaseParameters ? service.parameters.over(config.parameters) : Parameters()
        var parameters = try request.parameters
        let body = try request.body
        if !body.isAutomatic, parameters.areOwnProperties { parameters = Parameters() }
        let values = try parameters.over(base).values(dates: encoding.dates)
        var content = try ParameterPlacement(body: body, method: method, encoding: encoding).place(values, in: &parts)
        if let type = content.type, !headers.contains("Content-Type") { headers.add("Content-Type", type) }
        if case .data(let data) = content.body, data.isEmpty { content.body = .empty }
        if parts.path.isEmpty { parts.path = "/" }
        return OutgoingRequest(method: method, url: try parts.url(), headers: headers, body: content.body)
    }

    /// The URL before filters and parameters: an absolute path as it is, else base and path joined.
    private func url(of request: some Request, service: Service) throws -> URLParts {
        let path = request.path
        if let absolute = try URLParts(absolute: path) { return absolute }
        let base = try base(of: service, usesCDN: request.usesCDN)
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

    private func base(of service: Service, usesCDN: Bool) throws -> BaseURL? {
        if let name = service.baseURLVariable, let text = config.environment[name], !text.isEmpty {
            return BaseURL(text: text)
        }
        guard usesCDN else { return service.baseURL ?? config.baseURL }
        guard let cdn = service.cdnURL ?? (service.baseURL == nil ? config.cdnURL : nil) else {
            throw NetworkError(
                .invalidBaseURL("the request wants the CDN, and neither its service nor the config has its URL")
            )
        }
        return cdn
    }
}
