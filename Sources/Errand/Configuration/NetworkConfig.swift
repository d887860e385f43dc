public import Foundation

/// What holds for all requests of an ``Agent``, under what their service and they themselves say.
///
/// A value: `agent.config` may be replaced at any time, and a send uses the config of the moment when it started.
public struct NetworkConfig: Sendable {
    /// Where relative paths start; `nil` leaves that to the services.
    public var baseURL: BaseURL?

    /// Where relative paths of requests start that say `usesCDN`.
    public var cdnURL: BaseURL?

    /// Further origins that receive the credentials of config and service: `["https://files.example"]`.
    ///
    /// They are added to those of the base URL and the CDN. Only scheme, host and port count. Without a base URL and without
    /// such a list, credentials are sent to the origin of each request's own URL. A request opts out with
    /// ``Request/credentialPolicy``. The default is none.
    public var credentialOrigins: [BaseURL]

    /// Fields of all requests; a request opts out with `usesBaseHeaders`.
    ///
    /// Those that ``Secrets/headers`` names are sent only as ``CredentialPolicy`` says.
    public var headers: HTTPHeaders

    /// Parameters of all requests, sent only as ``CredentialPolicy`` says; a request opts out with `usesBaseParameters`.
    ///
    /// They are in the query or the body, as the request's ``Request/parameterEncoding`` says. A request with a
    /// ``Request/body`` of its own sends them only if that place is the query.
    public var parameters: Parameters

    /// What requests show that say nothing of their own; `.inherited` is none.
    public var authorization: Authorization

    /// Whose login requests show; it is refreshed when it is refused.
    public var authentication: Authentication

    /// Opens the envelope of answers; `nil` takes the whole body.
    public var filter: (any ResponseFilter)?

    /// Makes values of JSON where a request's formatter names no decoder.
    public var decoder: any DataDecoder

    /// Change the URL of every request, in order.
    public var urlFilters: [any URLFilter]

    /// Change every attempt, in order.
    public var adapters: [any RequestAdapter]

    /// Wrap every attempt, the first outermost.
    public var interceptors: [any Interceptor]

    /// Wrap every send, the first outermost.
    public var sendInterceptors: [any SendInterceptor]

    /// Told of every send, outermost.
    public var accessories: [any Accessory]

    /// Times and sizes; each `nil` is the library's own, ``Limits/library``.
    public var limits: Limits

    /// Which failures are tried again; `.inherited` is the library's own.
    public var retryPolicy: RetryPolicy

    /// How many retries one host gets from the agent, whatever the policies allow; ``RetryBudget/unlimited`` is no bound.
    public var retryBudget: RetryBudget

    /// Which redirects are followed; `.inherited` is the library's own.
    public var redirectPolicy: RedirectPolicy

    /// When a stored answer is used; `.inherited` is the library's own, ``CachePolicy/networkOnly``.
    public var cachePolicy: CachePolicy

    /// Asked before every send, in order.
    public var sendGates: [any SendGate]

    /// How many requests may be on the wire at once, and how many may start in how much time; `.inherited` is none.
    public var throttle: Throttle

    /// Where answers are stored; `nil` is nowhere, whatever the policies say.
    public var cache: ResponseCache?

    /// What must not be told to anyone, nor leave for another origin.
    public var secrets: Secrets

    /// Where services look up their ``Service/baseURLVariable``: the process's environment, unless it is set.
    public var environment: [String: String] {
        get { ownEnvironment ?? ProcessInfo.processInfo.environment }
        set { ownEnvironment = newValue }
    }

    /// Read only when it is needed, for it is made anew each time and holds what is nobody's business here.
    private var ownEnvironment: [String: String]?

    /// Creates a config; each argument sets the property of its name.
    ///
    /// Without a base URL it is for requests with absolute paths and services with bases of their own. The base URL is a
    /// literal such as `"https://api.example/v1"`, or `BaseURL(url)`.
    public init(
        baseURL: BaseURL? = nil,
        cdnURL: BaseURL? = nil,
        credentialOrigins: [BaseURL] = [],
        headers: HTTPHeaders = [:],
        parameters: Parameters = [:],
        authorization: Authorization = .inherited,
        authentication: Authentication = .inherited,
        filter: (any ResponseFilter)? = nil,
        decoder: any DataDecoder = JSONDecoder(),
        urlFilters: [any URLFilter] = [],
        adapters: [any RequestAdapter] = [],
        interceptors: [any Interceptor] = [],
        sendInterceptors: [any SendInterceptor] = [],
        accessories: [any Accessory] = [],
        limits: Limits = Limits(),
        retryPolicy: RetryPolicy = .inherited,
        retryBudget: RetryBudget = .standard,
        redirectPolicy: RedirectPolicy = .inherited,
        cachePolicy: CachePolicy = .inherited,
        sendGates: [any SendGate] = [],
        throttle: Throttle = .inherited,
        cache: ResponseCache? = nil,
        secrets: Secrets = Secrets(),
        environment: [String: String]? = nil
    ) {
        self.baseURL = baseURL
        self.cdnURL = cdnURL
        self.credentialOrigins = credentialOrigins
        self.headers = headers
        self.parameters = parameters
        self.authorization = authorization
        self.authentication = authentication
        self.filter = filter
        self.decoder = decoder
        self.urlFilters = urlFilters
        self.adapters = adapters
        self.interceptors = interceptors
        self.sendInterceptors = sendInterceptors
        self.accessories = accessories
        self.limits = limits
        self.retryPolicy = retryPolicy
        self.retryBudget = retryBudget
        self.redirectPolicy = redirectPolicy
        self.cachePolicy = cachePolicy
        self.sendGates = sendGates
        self.throttle = throttle
        self.cache = cache
        self.secrets = secrets
        ownEnvironment = environment
    }

    /// Creates a config in which relative paths start at a URL that is only known at run time.
    public init(baseURL: URL) { self.init(baseURL: BaseURL(baseURL)) }
}

/// A config as it was at some moment.
///
/// A class, for every send keeps one, and a config is large.
final class ConfigSnapshot: Sendable {
    let value: NetworkConfig

    init(_ value: NetworkConfig) { self.value = value }
}
