public import Foundation

/// The settings for all requests of an ``Agent``, which services and requests can override.
///
/// A config is a value: `agent.config` may be replaced at any time, and a send uses the config from when it started.
public struct NetworkConfig: Sendable {
    /// The URL that relative paths are resolved against, or `nil` if only services have one.
    public var baseURL: BaseURL?

    /// The URL that relative paths of requests with `usesCDN` are resolved against, or `nil` if only services have one.
    public var cdnURL: BaseURL?

    /// Further URLs of the CDN, which are tried in order if ``cdnURL`` fails; see ``Service/cdnFallbacks``.
    ///
    /// The default is none.
    public var cdnFallbacks: [BaseURL]

    /// Further origins that receive the credentials of config and service: `["https://files.example"]`.
    ///
    /// They are added to those of the base URL and the CDN. Only scheme, host and port count. Without a base URL and without
    /// such a list, credentials are sent to the origin of each request's own URL. A request opts out with
    /// ``Request/credentialPolicy``. The default is none.
    public var credentialOrigins: [BaseURL]

    /// The header fields of all requests.
    ///
    /// A request opts out with `usesBaseHeaders`. Fields that ``Secrets/headers`` names are sent only to the origins
    /// that ``CredentialPolicy`` allows. The origins of each service are among them, unless it has a value of its own.
    public var headers: HTTPHeaders

    /// The parameters of all requests.
    ///
    /// A request opts out with `usesBaseParameters`. They are sent only to the origins that ``CredentialPolicy``
    /// allows, those of each service among them, in the query or the body as the request's
    /// ``Request/parameterEncoding`` determines. A request with a ``Request/body`` of its own sends them only if they
    /// belong to the query.
    public var parameters: Parameters

    /// The place and the format of the parameters of requests and services that have none of their own, such as `.form`.
    ///
    /// `.inherited`, the default, is ``ParameterEncoding/automatic``.
    public var parameterEncoding: ParameterEncoding

    /// The authorization of requests and services that have none of their own.
    ///
    /// It is sent to the origins that ``CredentialPolicy`` allows, those of each service among them. A service for which it
    /// is not meant has an ``Service/authorization`` of its own, such as ``Authorization/anonymous``. `.inherited`, the
    /// default, is none.
    public var authorization: Authorization

    /// The session whose credential requests send, and which refreshes it after an unauthorized response.
    ///
    /// `.inherited`, the default, is none.
    public var authentication: Authentication

    /// The conditions for accepting a response to requests and services that have none of their own.
    ///
    /// `.inherited`, the default, is status codes 200 to 299 and any content type.
    public var acceptance: Acceptance

    /// The filter that unwraps the envelope of responses.
    ///
    /// If it is `nil`, the default, the payload is the whole body.
    public var filter: (any ResponseFilter)?

    /// The decoder for requests whose formatter has none.
    ///
    /// The default is a `JSONDecoder`.
    public var decoder: any DataDecoder

    /// The URL filters, which change the URL of every request, in order.
    public var urlFilters: [any URLFilter]

    /// The adapters, which change the request of every attempt, in order.
    public var adapters: [any RequestAdapter]

    /// The interceptors of every attempt, the first outermost, such as a ``CircuitBreaker``.
    ///
    /// A ``CookieJar`` and a ``Digest`` wrap each exchange, redirects included, inside of all others. By default, there is
    /// none.
    public var interceptors: [any Interceptor]

    /// The interceptors of every send, the first outermost.
    public var sendInterceptors: [any SendInterceptor]

    /// The accessories of every send, notified outside those of services and requests.
    public var accessories: [any Accessory]

    /// The limits of time and size.
    ///
    /// Each that is `nil` is the library default in ``Limits/library``.
    public var limits: Limits

    /// The rules for which failures are retried.
    ///
    /// `.inherited`, the default, is the library default.
    public var retryPolicy: RetryPolicy

    /// The maximum number of retries for each host, whatever the retry policies allow.
    ///
    /// The default is ``RetryBudget/standard``; ``RetryBudget/unlimited`` is no limit.
    public var retryBudget: RetryBudget

    /// The rules for which redirects are followed.
    ///
    /// `.inherited`, the default, is the library default.
    public var redirectPolicy: RedirectPolicy

    /// The rules for when a cached response is used.
    ///
    /// `.inherited`, the default, is ``CachePolicy/networkOnly``.
    public var cachePolicy: CachePolicy

    /// The gates, called in order before every send.
    public var sendGates: [any SendGate]

    /// The maximum number of requests on the wire at once, and the maximum rate of requests.
    ///
    /// `.inherited`, the default, is no limit.
    public var throttle: Throttle

    /// The cache in which responses are stored, or `nil`, the default, to store none, whatever the cache policies.
    public var cache: ResponseCache?

    /// Further caches, for services and requests whose ``CacheStorage`` is ``CacheStorage/named(_:)``.
    ///
    /// The default is none.
    public var namedCaches: [String: ResponseCache]

    /// The names of secrets, which are redacted and are not sent to other origins.
    public var secrets: Secrets

    /// The environment variables for ``Service/baseURLVariable``.
    ///
    /// The default is the process's environment.
    public var environment: [String: String] {
        get { ownEnvironment ?? ProcessInfo.processInfo.environment }
        set { ownEnvironment = newValue }
    }

    /// The environment that was set, or `nil` for the process's.
    ///
    /// That one is read only if needed: it is created for each read and contains unrelated secrets.
    private var ownEnvironment: [String: String]?

    /// Creates a config; each argument sets the property of its name.
    ///
    /// Without a base URL it is for requests with absolute paths and services with base URLs of their own. The base URL
    /// is a literal such as `"https://api.example/v1"`, `BaseURL(url)` for a `URL`, or `try BaseURL(text)`.
    public init(
        baseURL: BaseURL? = nil,
        cdnURL: BaseURL? = nil,
        cdnFallbacks: [BaseURL] = [],
        credentialOrigins: [BaseURL] = [],
        headers: HTTPHeaders = [:],
        parameters: Parameters = [:],
        parameterEncoding: ParameterEncoding = .inherited,
        authorization: Authorization = .inherited,
        authentication: Authentication = .inherited,
        acceptance: Acceptance = .inherited,
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
        namedCaches: [String: ResponseCache] = [:],
        secrets: Secrets = Secrets(),
        environment: [String: String]? = nil
    ) {
        self.baseURL = baseURL
        self.cdnURL = cdnURL
        self.cdnFallbacks = cdnFallbacks
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
        self.retryBudget = retryBudget
        self.redirectPolicy = redirectPolicy
        self.cachePolicy = cachePolicy
        self.sendGates = sendGates
        self.throttle = throttle
        self.cache = cache
        self.namedCaches = namedCaches
        self.secrets = secrets
        ownEnvironment = environment
    }

    /// Creates a config with a base URL that is known only at run time.
    ///
    /// With further arguments, write `NetworkConfig(baseURL: BaseURL(url), …)`.
    public init(baseURL: URL) { self.init(baseURL: BaseURL(baseURL)) }
}

/// A config at a point in time.
///
/// A class, because every send keeps one, and a config is large.
final class ConfigSnapshot: Sendable {
    let value: NetworkConfig
    /// Its secrets, for what must not know of the config.
    let secrets: Shared<Secrets>
    /// The filter of requests and services that have none.
    let filter: ResolvedSetting<any ResponseFilter>
    /// The decoding of responses to requests whose service has no decoder.
    let decoding: Payload.Decoding
    /// The URLs of its latest requests.
    let urls = RecentURLs()

    init(_ value: NetworkConfig) {
        (self.value, secrets) = (value, Shared(value.secrets))
        decoding = Payload.Decoding(value.decoder, hiding: secrets)
        filter = ResolvedSetting(
            value: value.filter ?? PassthroughFilter(),
            source: value.filter == nil ? .library : .config
        )
    }
}
