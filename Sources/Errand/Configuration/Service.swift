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

    /// The name of an environment variable that replaces ``baseURL`` if it is set and not empty, or `nil` for none.
    public var baseURLVariable: String?

    /// Further origins that receive the credentials of config and service: `["https://files.shop.example"]`.
    ///
    /// They are added to those of the base URL and the CDN and to ``NetworkConfig/credentialOrigins``. Only scheme, host and
    /// port count. The default is none.
    public var credentialOrigins: [BaseURL] = []

    /// The header fields of all its requests.
    ///
    /// They override the config's. A request opts out with `usesBaseHeaders`.
    public var headers: HTTPHeaders = [:]

    /// The parameters of all its requests.
    ///
    /// They override the config's as described in ``NetworkConfig/parameters``. A request opts out with `usesBaseParameters`.
    public var parameters: Parameters = [:]

    /// The authorization of requests that have none of their own.
    ///
    /// `.inherited`, the default, is the config's.
    public var authorization: Authorization = .inherited

    /// The session whose credential requests send.
    ///
    /// It overrides the config's. `.inherited`, the default, is the config's.
    public var authentication: Authentication = .inherited

    /// The filter that unwraps the envelope of its responses, or `nil` for the config's.
    public var filter: (any ResponseFilter)?

    /// The decoder for requests whose formatter has none, or `nil` for the config's.
    public var decoder: (any DataDecoder)?

    /// The URL filters, which run in order after the config's.
    public var urlFilters: [any URLFilter] = []

    /// The adapters, which run in order after the config's.
    public var adapters: [any RequestAdapter] = []

    /// The interceptors of every attempt, inside the config's.
    public var interceptors: [any Interceptor] = []

    /// The interceptors of every send, inside the config's.
    public var sendInterceptors: [any SendInterceptor] = []

    /// The accessories, notified after the config's and before the request's.
    public var accessories: [any Accessory] = []

    /// The limits of time and size.
    ///
    /// Each that is `nil` is the config's.
    public var limits = Limits()

    /// The rules for which failures are retried.
    ///
    /// `.inherited`, the default, is the config's.
    public var retryPolicy: RetryPolicy = .inherited

    /// The rules for which redirects are followed.
    ///
    /// `.inherited`, the default, is the config's.
    public var redirectPolicy: RedirectPolicy = .inherited

    /// The rules for when a cached response is used.
    ///
    /// `.inherited`, the default, is the config's.
    public var cachePolicy: CachePolicy = .inherited

    /// The gates, called in order after the config's.
    public var sendGates: [any SendGate] = []

    /// The maximum number of requests on the wire at once, and the maximum rate of requests.
    ///
    /// `.inherited`, the default, is the config's.
    public var throttle: Throttle = .inherited

    /// A service that takes everything from the config, and the service of requests that name none.
    public static let `default` = Service(id: "default")

    /// Creates a service.
    ///
    /// Other properties can be set afterwards.
    ///
    /// - Parameters:
    ///   - id: The name in contexts and logs.
    ///   - baseURL: A literal, or `BaseURL(url)`, or `nil` for the config's.
    ///   - cdnURL: The URL for requests with `usesCDN`, or `nil` for the config's.
    ///   - headers: The header fields of all its requests.
    ///   - parameters: The parameters of all its requests.
    ///   - filter: The filter that unwraps the envelope of its responses, or `nil` for the config's.
    public init(
        id: String,
        baseURL: BaseURL? = nil,
        cdnURL: BaseURL? = nil,
        headers: HTTPHeaders = [:],
        parameters: Parameters = [:],
        filter: (any ResponseFilter)? = nil
    ) {
        self.id = id
        self.baseURL = baseURL
        self.cdnURL = cdnURL
        self.headers = headers
        self.parameters = parameters
        self.filter = filter
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
