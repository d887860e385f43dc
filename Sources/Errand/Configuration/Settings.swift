/// What config, service and request declare for one send.
///
/// A class, for many hold it and it is large.
final class Settings: Sendable {
    let config: ConfigSnapshot
    let request: RequestValues
    let choices: Choices

    init(_ config: ConfigSnapshot, _ request: RequestValues) {
        self.config = config
        self.request = request
        choices = Choices(request, config)
    }

    var service: Service { request.service }

    /// The base URL that the environment sets in place of the service's; `nil` is none.
    var overridingBaseURL: BaseURL? {
        guard let name = service.baseURLVariable, let text = config.value.environment[name], !text.isEmpty else {
            return nil
        }
        return BaseURL(text: text)
    }

    /// Where relative paths start, unless the environment says otherwise.
    var baseURL: BaseURL? { service.baseURL ?? config.value.baseURL }

    /// Where relative paths of the CDN start, unless the environment says otherwise.
    var cdnURL: BaseURL? { service.cdnURL ?? (service.baseURL == nil ? config.value.cdnURL : nil) }

    /// The origins that credentials of config and service are sent to.
    ///
    /// - Parameter requestOrigin: The origin of the request's own URL, for a request without base URL and list.
    /// - Returns: The origins.
    /// - Throws: ``NetworkError`` if one of the URLs is invalid.
    func credentialOrigins(requestOrigin: String) throws(NetworkError) -> CredentialOrigins {
        let overriding = overridingBaseURL
        return try CredentialOrigins(
            base: overriding ?? baseURL,
            cdn: overriding == nil ? cdnURL : nil,
            listed: config.value.credentialOrigins.and(service.credentialOrigins),
            requestOrigin: requestOrigin
        )
    }
}
