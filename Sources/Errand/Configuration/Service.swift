public import Foundation

/// One or several hosts that share headers, parameters and conventions.
///
/// Each request names its service.
///
/// Settings that a service does not have are taken from the ``NetworkConfig``.
public struct Service: Sendable, Identifiable {
    /// The properties, behind one reference: each request has a service, which is copied with it for each send.
    private var shared: SharedParts

    private final class SharedParts: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    private struct Parts: Sendable {
        let id: String
        var baseURL: BaseURL?
        var cdnURL: BaseURL?
        var cdnFallbacks: [BaseURL]
        var baseURLVariable: String?
        var credentialOrigins: [BaseURL]
        var headers: HTTPHeaders
        var parameters: Parameters
        var parameterEncoding: ParameterEncoding
        var authorization: Authorization
        var authentication: Authentication
        var acceptance: Acceptance
        var filter: (any ResponseFilter)?
        var decoder: (any DataDecoder)?
        var urlFilters: [any URLFilter]
        var adapters: [any RequestAdapter]
        var interceptors: [any Interceptor]
        var sendInterceptors: [any SendInterceptor]
        var accessories: [any Accessory]
        var limits: Limits
        var retryPolicy: RetryPolicy
        var redirectPolicy: RedirectPolicy
        var cachePolicy: CachePolicy
        var cacheStorage: CacheStorage
        var sendGates: [any SendGate]
        var throttle: Throttle
    }

    /// Returns the service's own filter, or an inherited one.
    ///
    /// Like ``decoding(over:)`` a function, because an optional value of any type takes long to copy.
    func resolvedFilter(over inherited: ResolvedSetting<any ResponseFilter>) -> ResolvedSetting<any ResponseFilter> {
        guard let filter = shared.parts.filter else { return inherited }
        return ResolvedSetting(value: filter, source: .service)
    }

    /// Returns the decoding with the service's own decoder, or the config's.
    func decoding(over config: ConfigSnapshot) -> Payload.Decoding {
        guard let decoder = shared.parts.decoder else { return config.decoding }
        return Payload.Decoding(decoder, hiding: config.secrets)
    }

    /// The name in contexts, plans and logs.
    public var id: String { shared.parts.id }

    /// The URL that the paths of its requests are resolved against, or `nil` for the config's.
    public var baseURL: BaseURL? {
        get { shared.parts.baseURL }
        set { change { $0.baseURL = newValue } }
    }

    /// The URL that the paths of requests with `usesCDN` are resolved against, or `nil` for the config's.
    ///
    /// If the service has a base URL of its own, the config's is not used.
    public var cdnURL: BaseURL? {
        get { shared.parts.cdnURL }
        set { change { $0.cdnURL = newValue } }
    }

    /// Further URLs of the CDN, which are tried in order if ``cdnURL`` fails.
    ///
    /// A request with `usesCDN` and a safe method, such as GET, moves on to the next URL without a delay if it cannot
    /// connect, loses the connection, exceeds its idle timeout, or receives a status of 500 to 599. Each URL is used
    /// once in a send; further attempts of the ``RetryPolicy`` use the last one. The next send begins with ``cdnURL``
    /// again. ``Metrics/attempts`` show where each attempt was sent, and the cache key has the first URL. The default is
    /// none; they belong to ``cdnURL``, so the config's are used only together with the config's ``cdnURL``.
    public var cdnFallbacks: [BaseURL] {
        get { shared.parts.cdnFallbacks }
        set { change { $0.cdnFallbacks = newValue } }
    }

    /// The name of an environment variable that replaces ``baseURL`` if it is set and not empty, or `nil` for none.
    public var baseURLVariable: String? {
        get { shared.parts.baseURLVariable }
        set { change { $0.baseURLVariable = newValue } }
    }

    /// Further origins that receive the credentials of config and service: `["https://files.shop.example"]`.
    ///
    /// They are added to those of the base URL and the CDN and to ``NetworkConfig/credentialOrigins``. Only scheme, host and
    /// port count. The default is none.
    public var credentialOrigins: [BaseURL] {
        get { shared.parts.credentialOrigins }
        set { change { $0.credentialOrigins = newValue } }
    }

    /// The header fields of all its requests.
    ///
    /// They override the config's. A request opts out with `usesBaseHeaders`.
    public var headers: HTTPHeaders {
        get { shared.parts.headers }
        set { change { $0.headers = newValue } }
    }

    /// The parameters of all its requests.
    ///
    /// They override the config's as described in ``NetworkConfig/parameters``. A request opts out with `usesBaseParameters`.
    public var parameters: Parameters {
        get { shared.parts.parameters }
        set { change { $0.parameters = newValue } }
    }

    /// The place and the format of the parameters of requests that have none of their own, such as `.form`.
    ///
    /// `.inherited`, the default, is the config's.
    public var parameterEncoding: ParameterEncoding {
        get { shared.parts.parameterEncoding }
        set { change { $0.parameterEncoding = newValue } }
    }

    /// The authorization of requests that have none of their own.
    ///
    /// `.inherited`, the default, is the config's.
    public var authorization: Authorization {
        get { shared.parts.authorization }
        set { change { $0.authorization = newValue } }
    }

    /// The session whose credential requests send.
    ///
    /// It overrides the config's. `.inherited`, the default, is the config's.
    public var authentication: Authentication {
        get { shared.parts.authentication }
        set { change { $0.authentication = newValue } }
    }

    /// The conditions for accepting a response to requests that have none of their own.
    ///
    /// `.inherited`, the default, is the config's.
    public var acceptance: Acceptance {
        get { shared.parts.acceptance }
        set { change { $0.acceptance = newValue } }
    }

    /// The filter that unwraps the envelope of its responses, or `nil` for the config's.
    public var filter: (any ResponseFilter)? {
        get { shared.parts.filter }
        set { change { $0.filter = newValue } }
    }

    /// The decoder for requests whose formatter has none, or `nil` for the config's.
    public var decoder: (any DataDecoder)? {
        get { shared.parts.decoder }
        set { change { $0.decoder = newValue } }
    }

    /// The URL filters, which run in order after the config's.
    public var urlFilters: [any URLFilter] {
        get { shared.parts.urlFilters }
        set { change { $0.urlFilters = newValue } }
    }

    /// The adapters, which run in order after the config's.
    public var adapters: [any RequestAdapter] {
        get { shared.parts.adapters }
        set { change { $0.adapters = newValue } }
    }

    /// The interceptors of every attempt, inside the config's.
    public var interceptors: [any Interceptor] {
        get { shared.parts.interceptors }
        set { change { $0.interceptors = newValue } }
    }

    /// The interceptors of every send, inside the config's.
    public var sendInterceptors: [any SendInterceptor] {
        get { shared.parts.sendInterceptors }
        set { change { $0.sendInterceptors = newValue } }
    }

    /// The accessories, notified after the config's and before the request's.
    public var accessories: [any Accessory] {
        get { shared.parts.accessories }
        set { change { $0.accessories = newValue } }
    }

    /// The limits of time and size.
    ///
    /// Each that is `nil` is the config's.
    public var limits: Limits {
        get { shared.parts.limits }
        set { change { $0.limits = newValue } }
    }

    /// The rules for which failures are retried.
    ///
    /// `.inherited`, the default, is the config's.
    public var retryPolicy: RetryPolicy {
        get { shared.parts.retryPolicy }
        set { change { $0.retryPolicy = newValue } }
    }

    /// The rules for which redirects are followed.
    ///
    /// `.inherited`, the default, is the config's.
    public var redirectPolicy: RedirectPolicy {
        get { shared.parts.redirectPolicy }
        set { change { $0.redirectPolicy = newValue } }
    }

    /// The rules for when a cached response is used.
    ///
    /// `.inherited`, the default, is the config's.
    public var cachePolicy: CachePolicy {
        get { shared.parts.cachePolicy }
        set { change { $0.cachePolicy = newValue } }
    }

    /// The cache in which the responses of its requests are stored.
    ///
    /// `.inherited`, the default, is the config's.
    public var cacheStorage: CacheStorage {
        get { shared.parts.cacheStorage }
        set { change { $0.cacheStorage = newValue } }
    }

    /// The gates, called in order after the config's.
    public var sendGates: [any SendGate] {
        get { shared.parts.sendGates }
        set { change { $0.sendGates = newValue } }
    }

    /// The maximum number of requests on the wire at once, and the maximum rate of requests.
    ///
    /// `.inherited`, the default, is the config's.
    public var throttle: Throttle {
        get { shared.parts.throttle }
        set { change { $0.throttle = newValue } }
    }

    /// A service that takes everything from the config, and the service of requests that name none.
    public static let `default` = Service(id: "default")

    /// Creates a service; each argument sets the property of its name.
    ///
    /// The base URL is a literal such as `"https://shop.example/api"`, `BaseURL(url)`, or `try BaseURL(text)`.
    public init(
        id: String,
        baseURL: BaseURL? = nil,
        cdnURL: BaseURL? = nil,
        cdnFallbacks: [BaseURL] = [],
        baseURLVariable: String? = nil,
        credentialOrigins: [BaseURL] = [],
        headers: HTTPHeaders = [:],
        parameters: Parameters = [:],
        parameterEncoding: ParameterEncoding = .inherited,
        authorization: Authorization = .inherited,
        authentication: Authentication = .inherited,
        acceptance: Acceptance = .inherited,
        filter: (any ResponseFilter)? = nil,
        decoder: (any DataDecoder)? = nil,
        urlFilters: [any URLFilter] = [],
        adapters: [any RequestAdapter] = [],
        interceptors: [any Interceptor] = [],
        sendInterceptors: [any SendInterceptor] = [],
        accessories: [any Accessory] = [],
        limits: Limits = Limits(),
        retryPolicy: RetryPolicy = .inherited,
        redirectPolicy: RedirectPolicy = .inherited,
        cachePolicy: CachePolicy = .inherited,
        cacheStorage: CacheStorage = .inherited,
        sendGates: [any SendGate] = [],
        throttle: Throttle = .inherited
    ) {
        shared = SharedParts(
            Parts(
                id: id,
                baseURL: baseURL,
                cdnURL: cdnURL,
                cdnFallbacks: cdnFallbacks,
                baseURLVariable: baseURLVariable,
                credentialOrigins: credentialOrigins,
                headers: headers,
                parameters: parameters,
                parameterEncoding: parameterEncoding,
                authorization: authorization,
                authentication: authentication,
                acceptance: acceptance,
                filter: filter,
                decoder: decoder,
                urlFilters: urlFilters,
                adapters: adapters,
                interceptors: interceptors,
                sendInterceptors: sendInterceptors,
                accessories: accessories,
                limits: limits,
                retryPolicy: retryPolicy,
                redirectPolicy: redirectPolicy,
                cachePolicy: cachePolicy,
                cacheStorage: cacheStorage,
                sendGates: sendGates,
                throttle: throttle
            )
        )
    }

    private mutating func change(_ change: (inout Parts) -> Void) {
        var parts = shared.parts
        change(&parts)
        shared = SharedParts(parts)
    }

    /// Creates a service with a URL that is known only at run time.
    public init(
        id: String,
        baseURL: URL,
        headers: HTTPHeaders = [:],
        parameters: Parameters = [:],
        filter: (any ResponseFilter)? = nil
    ) {
        self.init(id: id, baseURL: BaseURL(baseURL), headers: headers, parameters: parameters, filter: filter)
    }
}
