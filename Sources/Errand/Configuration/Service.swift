public import Foundation

/// A host, or several, that share headers, parameters and conventions; each request names the one it belongs to.
///
/// What a service does not say is taken from the ``NetworkConfig``.
public struct Service: Sendable, Identifiable {
    /// Its name in contexts, plans and logs.
    public let id: String

    /// Where the paths of its requests start; `nil` is the config's.
    public var baseURL: BaseURL?

    /// Where the paths of requests start that say `usesCDN`; `nil` is the config's, unless the service has a base of
    /// its own.
    public var cdnURL: BaseURL?

    /// The name of an environment variable that replaces ``baseURL`` when it is set and not empty; `nil` is none.
    public var baseURLVariable: String?

    /// Further origins that receive the credentials of config and service: `["https://files.shop.example"]`.
    ///
    /// They are added to those of the base URL and the CDN and to ``NetworkConfig/credentialOrigins``. Only scheme, host and
    /// port count. The default is none.
    public var credentialOrigins: [BaseURL] = []

    /// Fields of all its requests, over the config's; a request opts out with `usesBaseHeaders`.
    public var headers: HTTPHeaders = [:]

    /// Parameters of all its requests, over the config's, as ``NetworkConfig/parameters`` says; a request opts out with
    /// `usesBaseParameters`.
    public var parameters: Parameters = [:]

    /// What requests show that say nothing of their own; `.inherited` is the config's.
    public var authorization: Authorization = .inherited

    /// Whose login requests show, over the config's.
    public var authentication: Authentication = .inherited

    /// Opens the envelope that its answers come in; `nil` is the config's.
    public var filter: (any ResponseFilter)?

    /// Makes values of JSON where a request's formatter names no decoder; `nil` is the config's.
    public var decoder: (any DataDecoder)?

    /// Run after the config's, in order.
    public var urlFilters: [any URLFilter] = []

    /// Run after the config's, in order.
    public var adapters: [any RequestAdapter] = []

    /// Wrap every attempt, inside the config's.
    public var interceptors: [any Interceptor] = []

    /// Wrap every send, inside the config's.
    public var sendInterceptors: [any SendInterceptor] = []

    /// Told after the config's and before the request's.
    public var accessories: [any Accessory] = []

    /// Times and sizes; each `nil` is the config's.
    public var limits = Limits()

    /// Which failures are tried again; `.inherited` is the config's.
    public var retryPolicy: RetryPolicy = .inherited

    /// Which redirects are followed; `.inherited` is the config's.
    public var redirectPolicy: RedirectPolicy = .inherited

    /// When a stored answer is used; `.inherited` is the config's.
    public var cachePolicy: CachePolicy = .inherited

    /// Asked after the config's, in order.
    public var sendGates: [any SendGate] = []

    /// How many requests may be on the wire at once, and how many may start in how much time; `.inherited` is the
    /// config's.
    public var throttle: Throttle = .inherited

    /// A service that takes everything from the config; what a request belongs to that names none.
    public static let `default` = Service(id: "default")

    /// Declares a service; further properties can be set afterwards.
    ///
    /// - Parameters:
    ///   - id: Its name in contexts and logs.
    ///   - baseURL: A literal, or `BaseURL(url)`; `nil` is the config's.
    ///   - cdnURL: Where requests go that say `usesCDN`.
    ///   - headers: Fields of all its requests.
    ///   - parameters: Parameters of all its requests.
    ///   - filter: Opens the envelope that its answers come in; `nil` is the config's.
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

    /// The same with a `URL` that is only known at run time.
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
