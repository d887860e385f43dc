/// What config, service and request declare for one send, and what of that holds.
///
/// A class, because it is large and referenced from many places.
final class Settings: Sendable {
    let config: ConfigSnapshot
    let request: RequestValues
    /// The filter that unwraps the response, which is kept because every stage asks where it is from.
    let filter: ResolvedSetting<any ResponseFilter>

    init(_ config: ConfigSnapshot, _ request: RequestValues) {
        self.config = config
        self.request = request
        if case .filter(let own) = request.filter {
            filter = ResolvedSetting(value: own, source: .request)
        } else {
            filter = request.service.resolvedFilter(over: config.filter)
        }
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
    var baseURL: BaseURL? { request.service.baseURL ?? config.value.baseURL }

    /// The URLs that relative paths of the CDN are resolved against, in order, unless the environment overrides them.
    var cdnURLs: [BaseURL] {
        let service = request.service
        if service.cdnURL != nil || !service.cdnFallbacks.isEmpty {
            return Self.list(service.cdnURL, service.cdnFallbacks)
        }
        return service.baseURL == nil ? Self.list(config.value.cdnURL, config.value.cdnFallbacks) : []
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
            listed: config.value.credentialOrigins.and(request.service.credentialOrigins),
            requestOrigin: requestOrigin
        )
    }
}
