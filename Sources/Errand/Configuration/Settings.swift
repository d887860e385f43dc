/// The declarations of config, service and request for one send, and the resolved settings.
///
/// A class, because it is large and referenced from many places.
final class Settings: Sendable {
    let config: ConfigSnapshot
    let request: RequestValues
    /// The filter that unwraps the response, which is kept because every stage reads its source.
    let filter: ResolvedSetting<any ResponseFilter>

    init(_ config: ConfigSnapshot, _ request: consuming RequestValues) {
        if case .filter(let own) = request.filter {
            filter = ResolvedSetting(value: own, source: .request)
        } else {
            filter = request.service.resolvedFilter(over: config.filter)
        }
        self.config = config
        // Last, so that it is moved.
        self.request = request
    }

    /// The base URL that the environment sets in place of the service's, or `nil` if there is none.
    var overridingBaseURL: BaseURL? {
        guard let name = request.service.baseURLVariable, let text = config.value.environment[name], !text.isEmpty
        else {
            return nil
        }
        return BaseURL(text: text)
    }

    /// The URL that relative paths are resolved against, unless the environment overrides it.
    var baseURL: BaseURL? { request.service.baseURL ?? config.inherited.baseURL }

    /// The URLs that relative paths of the CDN are resolved against, in order, unless the environment overrides them.
    var cdnURLs: [BaseURL] {
        let service = request.service
        if service.cdnURL != nil || !service.cdnFallbacks.isEmpty {
            return Self.list(service.cdnURL, service.cdnFallbacks)
        }
        return service.baseURL == nil ? Self.list(config.inherited.cdnURL, config.inherited.cdnFallbacks) : []
    }

    private static func list(_ first: BaseURL?, _ others: [BaseURL]) -> [BaseURL] {
        var list = first.map { [$0] } ?? []
        for other in others where !list.contains(other) { list.append(other) }
        return list
    }

    /// Returns the origins that credentials of config and service are sent to.
    ///
    /// - Parameter requestOrigin: The origin of the request's own URL, for a request without base URL and list.
    /// - Returns: The origins.
    /// - Throws: ``NetworkError`` if one of the URLs is invalid.
    func credentialOrigins(requestOrigin: Origin) throws(NetworkError) -> CredentialOrigins {
        let overriding = overridingBaseURL
        return try CredentialOrigins(
            base: overriding ?? baseURL,
            cdn: overriding == nil ? cdnURLs : [],
            listed: config.inherited.credentialOrigins.and(request.service.credentialOrigins),
            requestOrigin: requestOrigin
        )
    }
}

// Each setting, resolved when it is read: the request's over the service's over the config's over the library's.
extension Settings {
    var authorization: ResolvedSetting<Authorization> {
        resolved(request.authorization, { $0.authorization }, .anonymous)
    }
    var retryPolicy: ResolvedSetting<RetryPolicy> { resolved(request.retryPolicy, { $0.retryPolicy }, .standard) }
    var redirectPolicy: ResolvedSetting<RedirectPolicy> {
        resolved(request.redirectPolicy, { $0.redirectPolicy }, .follow)
    }
    var cachePolicy: ResolvedSetting<CachePolicy> { resolved(request.cachePolicy, { $0.cachePolicy }, .networkOnly) }
    var acceptance: ResolvedSetting<Acceptance> { resolved(request.acceptance, { $0.acceptance }, .standard) }
    var throttle: ResolvedSetting<Throttle> { resolved(.inherited, { $0.throttle }, .unlimited) }
    var authentication: ResolvedSetting<Authentication> { resolved(.inherited, { $0.authentication }, .anonymous) }
    var cacheStorage: ResolvedSetting<CacheStorage> { resolved(request.cacheStorage, { $0.cacheStorage }, .standard) }

    var timeout: ResolvedSetting<Duration?> { limit { $0.timeout } }
    var deadline: ResolvedSetting<Duration?> { limit { $0.deadline } }
    var maximumBodySize: ResolvedSetting<Int?> { limit { $0.maximumBodySize } }
    var maximumHeaderSize: ResolvedSetting<Int?> { limit { $0.maximumHeaderSize } }
    var maximumExpansion: ResolvedSetting<Int?> { limit { $0.maximumExpansion } }
    var minimumInterval: ResolvedSetting<Duration?> { limit { $0.minimumInterval } }

    /// The format of the innermost encoding that has one; the styles of those inside replace its own.
    var parameterEncoding: ResolvedSetting<ParameterEncoding> {
        let source = resolved(request.parameterEncoding, { $0.parameterEncoding }, .automatic).source
        if source == .library { return ResolvedSetting(value: .automatic, source: source) }
        let inherited = request.service.parameterEncoding.over(config.inherited.parameterEncoding.over(.automatic))
        return ResolvedSetting(value: request.parameterEncoding.over(inherited), source: source)
    }

    @inline(__always)
    private func limit<Value>(_ member: (Limits) -> Value?) -> ResolvedSetting<Value?> {
        resolved(member(request.limits), { member($0.limits) }, member(Limits.library))
    }

    @inline(__always)
    private func resolved<Value: Inheritable>(
        _ own: @autoclosure () -> Value,
        _ member: (borrowing InheritedSettings) -> Value,
        _ library: @autoclosure () -> Value
    ) -> ResolvedSetting<Value> {
        // Closures, because an argument and the root of a key path would be copied.
        let own = own()
        if !own.isInherited { return ResolvedSetting(value: own, source: .request) }
        let service = member(request.service.inherited)
        if !service.isInherited { return ResolvedSetting(value: service, source: .service) }
        let config = member(config.inherited)
        if !config.isInherited { return ResolvedSetting(value: config, source: .config) }
        return ResolvedSetting(value: library(), source: .library)
    }
}

extension Settings {
    /// The cache in which responses are stored, or `nil` if there is none.
    var cache: ResponseCache? {
        if case .named(let name) = cacheStorage.value { return config.value.namedCaches[name] }
        return config.value.cache
    }
}
