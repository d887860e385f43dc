public import Foundation

/// One or several hosts that share headers, parameters and conventions.
///
/// Each request names its service.
///
/// Settings that a service does not have are taken from the ``NetworkConfig``.
public struct Service: Sendable, Identifiable {
    /// The name in contexts, plans and logs.
    public let id: String

    /// The URL that the paths of its requests are resolved against, or `nil` for the config's.
    public var baseURL: BaseURL?

    /// The URL that the paths of requests with `usesCDN` are resolved against, or `nil` for the config's.
    ///
    /// If the service has a base URL of its own, the config's is not used.
    public var cdnURL: BaseURL?

    /// Further URLs of the CDN, which are tried in order if ``cdnURL`` fails.
    ///
    /// A request with `usesCDN` and a safe method, such as GET, moves on to the next URL without a delay if it cannot
    /// connect, loses the connection, exceeds its idle timeout, or receives a status of 500 to 599. Each URL is used
    /// once in a send; further attempts of the ``RetryPolicy`` use the last one. The next send begins with ``cdnURL``
    /// again. ``Metrics/attempts`` show where each attempt was sent, and the cache key has the first URL. The default is
    /// none; they belong to ``cdnURL``, so the config's are used only together with the config's ``cdnURL``.
    public var cdnFallbacks: [BaseURL]

    /// The name of an environment variable that replaces ``baseURL`` if it is set and not empty, or `nil` for none.
    public var baseURLVariable: String?

    /// Further origins that receive the credentials of config and service: `["https://files.shop.example"]`.
    ///
    /// They are added to those of the base URL and the CDN and to ``NetworkConfig/credentialOrigins``. Only scheme, host and
    /// port count. The default is none.
    public var credentialOrigins: [BaseURL]

    /// The header fields of all its requests.
    ///
    /// They override the config's. A request opts out with `usesBaseHeaders`.
    public var headers: HTTPHeaders

    /// The parameters of all its requests.
    ///
    /// They override the config's as described in ``NetworkConfig/parameters``. A request opts out with `usesBaseParameters`.
    public var parameters: Parameters

    /// The place and the format of the parameters of requests that have none of their own, such as `.form`.
    ///
    /// `.inherited`, the default, is the config's.
    public var parameterEncoding: ParameterEncoding

    /// The authorization of requests that have none of their own.
    ///
    /// `.inherited`, the default, is the config's.
    public var authorization: Authorization

    /// The session whose credential requests send.
    ///
    /// It overrides the config's. `.inherited`, the default, is the config's.
    public var authentication: Authentication

    /// The conditions for accepting a response to requests that have none of their own.
    ///
    /// `.inherited`, the default, is the config's.
    public var acceptance: Acceptance

    /// The filter that unwraps the envelope of its responses, or `nil` for the config's.
    public var filter: (any ResponseFilter)?

    /// The decoder for requests whose formatter has none, or `nil` for the config's.
    public var decoder: (any DataDecoder)?

    /// The URL filters, which run in order after the config's.
    public var urlFilters: [any URLFilter]

    /// The adapters, which run in order after the config's.
    public var adapters: [any RequestAdapter]

    /// The interceptors of every attempt, inside the config's.
    public var interceptors: [any Interceptor]

    /// The interceptors of every send, inside the config's.
    public var sendInterceptors: [any SendInterceptor]

    /// The accessories, notified after the config's and before the request's.
    public var accessories: [any Accessory]

    /// The limits of time and size.
    ///
    /// Each that is `nil` is the config's.
    public var limits: Limits

    /// The rules for which failures are retried.
    ///
    /// `.inherited`, the default, is the config's.
    public var retryPolicy: RetryPolicy

    /// The rules for which redirects are followed.
    ///
    /// `.inherited`, the default, is the config's.
    public var redirectPolicy: RedirectPolicy

    /// The rules for when a cached response is used.
    ///
    /// `.inherited`, the default, is the config's.
    public var cachePolicy: CachePolicy

    /// The cache in which the responses of its requests are stored.
    ///
    /// `.inherited`, the default, is the config's.
    public var cacheStorage: CacheStorage

    /// The gates, called in order after the config's.
    public var sendGates: [any SendGate]

    /// The maximum number of requests on the wire at once, and the maximum rate of requests.
    ///
    /// `.inherited`, the default, is the config's.
    public var throttle: Throttle

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
        self.id = id
        self.baseURL = baseURL
        self.cdnURL = cdnURL
        self.cdnFallbacks = cdnFallbacks
        self.baseURLVariable = baseURLVariable
        self.credentialOrigins = credentialOrigins
        self.headers = headers
        self.parameters = parameters
        self.parameterEncoding = parameterEncoding
        self.authorization = authorization
        self.authentication = authentication
        self.acceptance = acceptance
        self.filter = filter
        self.decoder = decoder
        self.urlFilters = urlFilters
        self.adapters = adapters
        self.interceptors = interceptors
        self.sendInterceptors = sendInterceptors
        self.accessories = accessories
        self.limits = limits
        self.retryPolicy = retryPolicy
        self.redirectPolicy = redirectPolicy
        self.cachePolicy = cachePolicy
        self.cacheStorage = cacheStorage
        self.sendGates = sendGates
        self.throttle = throttle
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
