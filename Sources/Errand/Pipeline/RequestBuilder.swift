internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Creates the snapshot of a request: request, service and config become one ``PreparedRequest``.
///
/// Runs in the request's context. Throws the errors of the request's own members and of the URL filters, and
/// ``NetworkError`` if the request is invalid.
struct RequestBuilder {
    let send: Send
    let settings: Settings
    var sent: SentRequest?
    private var config: ConfigSnapshot { settings.config }

    func prepare(_ content: borrowing RequestContent, step: CacheStep = .whole) throws -> PreparedRequest {
        var context = send.context
        if let id = content.callID { context.attributes[JSONRPCID.attribute] = id }
        let built: BuiltRequest
        var fallbacks: [BuiltRequest] = []
        let pinnedCredential: PinnedCredential?
        if var outgoing = content.custom?.value {
            outgoing.notes.declared = DeclaredPath(outgoing.url.path())
            let origin = outgoing.url.origin
            let decision = try decide(for: origin, requestOrigin: origin, policy: settings.request.credentialPolicy)
            try outgoing.validate()
            built = BuiltRequest(outgoing, credentials: decision, requestOrigin: origin)
            if outgoing.method != context.method { context = context.with(method: outgoing.method) }
            pinnedCredential = PinnedCredential(of: settings, for: send.client) { outgoing.headers }
        } else {
            built = try build(content, at: try place(), context: &context)
            for place in try fallbackPlaces() {
                do {
                    fallbacks.append(try build(content, at: place, context: &context))
                } catch  where !(error is NetworkError) {
                    // A URL filter rejects this URL, and not the request.
                }
            }
            pinnedCredential = PinnedCredential(of: settings, for: send.client) { settings.request.headers }
        }
        if let receiver = content.receiver {
            context = context.with(beginning: BodyBeginning(isStream: receiver.isStream))
        }
        (context.url, context.declared) = (built.outgoing.url, built.outgoing.notes.declared)
        context.allowsCredentials = built.credentials.areSent
        return PreparedRequest(
            PreparedRequest.Parts(
                content,
                of: settings,
                as: send,
                in: context,
                built: built,
                fallbacks: fallbacks,
                pinnedCredential: pinnedCredential,
                step: step,
                sent: sent
            )
        )
    }

    /// Decides whether credentials of config and service are sent to a URL.
    private func decide(
        for origin: Origin,
        requestOrigin: Origin,
        policy: CredentialPolicy,
        isBelowBase: Bool = false
    ) throws -> CredentialDecision {
        // A URL that was joined with the base URL or the CDN's, and not changed, needs no comparison.
        let isOwn =
            try policy != .ownOrigins || isBelowBase && origin == requestOrigin
            || settings.credentialOrigins(requestOrigin: requestOrigin).contains(origin)
        return CredentialDecision(areSent: isOwn, policy: policy, origin: origin)
    }

    private func build(
        _ content: borrowing RequestContent,
        at place: Place,
        context: inout RequestContext
    ) throws -> BuiltRequest {
        let method = settings.request.method
        let (foundOrigin, isBelowBase) = (place.parts.origin, place.isBelowBase)
        let policy = settings.request.credentialPolicy
        func decide(for origin: Origin) throws -> CredentialDecision {
            try self.decide(
                for: origin,
                requestOrigin: foundOrigin,
                policy: policy,
                isBelowBase: isBelowBase
            )
        }
        var parts = place.parts
        context.declared = place.declared
        var credentials = try decide(for: parts.origin)
        let filters = config.inherited.urlFilters.and(settings.request.service.urlFilters)
        if !filters.isEmpty {
            let own = try parts.url()
            var url = own
            for filter in filters {
                context.url = url
                context.allowsCredentials = credentials.areSent
                url = try filter.filter(url, for: context)
                guard let filtered = try URLParts(absolute: url.absoluteString) else {
                    throw NetworkError(.invalidURL("a URL filter made one without a scheme"))
                }
                parts = filtered
                credentials = try decide(for: parts.origin)
            }
            if !credentials.areSent {
                let left = try url.withoutCredentials(of: config.value.secrets, except: own)
                parts = try URLParts(absolute: left.absoluteString) ?? parts
            }
        }
        var headers = try headers(withCredentials: credentials.areSent)
        let encoding = settings.parameterEncoding.value
        parts.append(encodedQuery: encoding.encodedPairs(try content.query.values(dates: encoding.dates)))
        var parameters = content.parameters
        let body = content.body
        if !body.isAutomatic, parameters.areOwnProperties { parameters = Parameters() }
        let base =
            settings.request.usesBaseParameters
            ? settings.request.service.parameters.over(config.inherited.parameters) : Parameters()
        let isInherited = settings.request.parameterEncoding.format == .inherited
        let placement = ParameterPlacement(body: body, method: method, encoding: encoding, isInherited: isInherited)
        let basePlace: BaseParameterPlace =
            base.isEmpty ? .absent : credentials.areSent ? placement.placeOfBaseParameters : .withheld
        let values = try parameters.over(basePlace.isSent ? base : Parameters()).values(dates: encoding.dates)
        var content = try placement.place(values, in: &parts)
        if let type = content.type, body.isMultipart || !declaresContentType(in: headers, inPlaceOf: type) {
            headers["Content-Type"] = type
        }
        if case .data(let data) = content.body, data.isEmpty { content.body = .empty }
        if parts.path.isEmpty { parts.path = "/" }
        var removal: BaseParameterRemoval?
        if basePlace == .query {
            removal = .query { [parameters] in
                let own = parameters.exactNames
                let values = try base.values(dates: encoding.dates).filter { own[JSONExactName($0.name)] == nil }
                return encoding.encodedPairs(values)
            }
        }
        if basePlace == .body {
            removal = .body { [parameters, parts] in
                var unused = parts
                return try placement.place(try parameters.values(dates: encoding.dates), in: &unused).body
            }
        }
        let url = try url(of: parts, at: place)
        var outgoing = OutgoingRequest(method: method, url: url, headers: headers, body: content.body)
        outgoing.notes.declared = place.declared
        try outgoing.validate()
        return BuiltRequest(
            consume outgoing,
            credentials: credentials,
            requestOrigin: foundOrigin,
            baseParameters: basePlace,
            baseRemoval: removal
        )
    }

    /// Whether header fields have a `Content-Type` to send in place of the one of the body.
    ///
    /// The request's own field replaces the body's. A field of the service or the config does so if both are the same type,
    /// such as with a charset, if both are JSON, or if the body's is the general type of bytes.
    private func declaresContentType(in headers: HTTPHeaders, inPlaceOf type: String) -> Bool {
        guard let declared = headers["Content-Type"] else { return false }
        if settings.request.headers.contains("Content-Type") { return true }
        guard let own = MediaType(type)?.essence, let inherited = MediaType(declared)?.essence else { return false }
        if own == "application/json" { return inherited.contains("json") }
        return own == inherited || own == "application/octet-stream"
    }

    /// Returns the header fields: the config's, overridden by the service's, then by the request's.
    private func headers(withCredentials areSent: Bool) throws(NetworkError) -> HTTPHeaders {
        var headers = settings.request.usesBaseHeaders ? config.inherited.headers : HTTPHeaders()
        let authorization = settings.authorization
        func authorize(at level: SettingSource) throws(NetworkError) {
            guard authorization.source == level, areSent || level == .request else { return }
            headers["Authorization"] = try authorization.value.fieldValue
        }
        try authorize(at: .config)
        if settings.request.usesBaseHeaders { headers.merge(settings.request.service.headers) }
        if !areSent {
            let secrets = config.value.secrets
            headers = HTTPHeaders(headers.filter { !secrets.isCredential(header: $0.name) })
        }
        try authorize(at: .service)
        try authorize(at: .request)
        headers.merge(settings.request.headers)
        switch settings.request.idempotencyKey.source {
        case .absent: break
        case .automatic: headers["Idempotency-Key"] = UUID().uuidString
        case .value(let key): headers["Idempotency-Key"] = key
        }
        return headers
    }
}

extension PreparedRequest.Parts {
    /// Creates the parts of a request from its own declarations, its service's and the config's, and its send.
    fileprivate init(
        _ content: borrowing RequestContent,
        of settings: Settings,
        as send: Send,
        in context: RequestContext,
        built: BuiltRequest,
        fallbacks: [BuiltRequest],
        pinnedCredential: PinnedCredential?,
        step: CacheStep,
        sent: SentRequest?
    ) {
        let config = settings.config
        self.sent = sent
        self.context = context
        self.settings = settings
        self.built = built
        self.fallbacks = fallbacks
        self.pinnedCredential = pinnedCredential
        transportIdentity = send.transportIdentity
        adapters = config.inherited.adapters.and(settings.request.service.adapters)
        interceptors = config.inherited.interceptors.and(settings.request.service.interceptors)
        exchangeInterceptors = ExchangeHook.hooks(interceptors, after: adapters.count, for: built.outgoing.url)
        sendInterceptors = config.inherited.sendInterceptors.and(settings.request.service.sendInterceptors)
        accessories = send.accessories
        // A body that is not in memory is neither stored nor given to others.
        let isInMemory = content.receiver == nil
        cacheUse =
            isInMemory ? CacheUse.of(settings.cachePolicy.value, step: step, cache: settings.cache) : nil
        let isGivenToOthers = isInMemory && (cacheUse != nil || settings.request.duplicatePolicy == .share)
        // The cookies of a jar are compared only if they matter.
        let countsCookies = isGivenToOthers || !isInMemory
        scopes =
            adapters.map { $0.credentialScope(for: context) }
            + interceptors.map { hook in
                countsCookies || !(hook is any ExchangeInterceptor) ? hook.credentialScope(for: context) : ""
            }
        let isKept = isGivenToOthers || content.receiver?.isStream == false
        userCheck = isKept && !scopes.isEmpty && !scopes.contains(nil) ? UserCheck() : nil
        typeID = send.type.id
        sendGates = config.inherited.sendGates.and(settings.request.service.sendGates)
        queued = settings.throttle.value.isLimited ? Lock(.zero) : nil
        guarding = content.guarding
        guardsPayload = content.guardsPayload
        receiver = content.receiver
        deadline = send.deadline
        stop = send.stop
    }
}
