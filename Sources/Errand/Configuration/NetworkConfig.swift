public import Foundation

/// The settings for all requests of an ``Agent``, which services and requests can override.
///
/// A config is a value: `agent.config` may be replaced at any time, and a send uses the config from when it started. Its
/// properties are the ones below and the properties of ``InheritedSettings``, such as `config.headers`.
@dynamicMemberLookup
public struct NetworkConfig: Sendable {
    fileprivate var shared: Shared<InheritedSettings>

    /// The decoder for requests whose formatter has none.
    ///
    /// The default is a ``LosslessJSONDecoder``, which converts nothing and reads dates in ISO 8601.
    public var decoder: any DataDecoder

    /// The maximum number of retries for each host, whatever the retry policies allow.
    ///
    /// The default is ``RetryBudget/standard``; ``RetryBudget/unlimited`` is no limit.
    public var retryBudget: RetryBudget

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

    /// A property of ``InheritedSettings``.
    public subscript<Value>(dynamicMember member: WritableKeyPath<InheritedSettings, Value>) -> Value {
        @inline(__always) get { shared.value[keyPath: member] }
        @inline(__always) _modify { yield &shared.value[keyPath: member] }
    }

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
        decoder: any DataDecoder = LosslessJSONDecoder(),
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
        var own = InheritedSettings(baseURL: baseURL, cdnURL: cdnURL, cdnFallbacks: cdnFallbacks)
        (own.credentialOrigins, own.headers, own.parameters) = (credentialOrigins, headers, parameters)
        (own.parameterEncoding, own.authorization, own.limits) = (parameterEncoding, authorization, limits)
        (own.authentication, own.acceptance, own.filter) = (authentication, acceptance, filter)
        (own.urlFilters, own.adapters, own.interceptors) = (urlFilters, adapters, interceptors)
        (own.sendInterceptors, own.accessories, own.sendGates) = (sendInterceptors, accessories, sendGates)
        (own.retryPolicy, own.redirectPolicy) = (retryPolicy, redirectPolicy)
        (own.cachePolicy, own.throttle) = (cachePolicy, throttle)
        shared = Shared(own)
        (self.decoder, self.retryBudget, self.secrets) = (decoder, retryBudget, secrets)
        (self.cache, self.namedCaches) = (cache, namedCaches)
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
    private let shared: Shared<InheritedSettings>
    /// The settings that services and requests inherit; read from here, because the config would be copied.
    var inherited: InheritedSettings { _read { yield shared.value } }
    /// Its secrets, for types that must not refer to the config.
    let secrets: Shared<Secrets>
    /// The filter of requests and services that have none.
    let filter: ResolvedSetting<any ResponseFilter>
    /// The decoding of responses to requests whose service has no decoder.
    let decoding: Payload.Decoding
    /// The URLs of its latest requests.
    let urls = RecentURLs()

    init(_ value: NetworkConfig) {
        (self.value, shared, secrets) = (value, value.shared, Shared(value.secrets))
        decoding = Payload.Decoding(value.decoder)
        filter = ResolvedSetting(
            value: value.filter ?? PassthroughFilter(),
            source: value.filter == nil ? .library : .config
        )
    }
}

extension NetworkConfig {
    /// All caches, each once.
    var allCaches: [ResponseCache] {
        guard !namedCaches.isEmpty else { return cache.map { [$0] } ?? [] }
        return namedCaches.values.reduce(into: cache.map { [$0] } ?? []) { caches, other in
            if !caches.contains(where: { $0 === other }) { caches.append(other) }
        }
    }
}

extension NetworkConfig {
    /// Returns a copy with a plain HTTP cache like a browser's: responses are stored in memory and on disk, and used
    /// as their servers allow (RFC 9111).
    ///
    /// ```swift
    /// let agent = Agent(config: NetworkConfig(baseURL: "https://api.example").withHTTPCache())
    /// ```
    ///
    /// Sets ``cache`` and ``InheritedSettings/cachePolicy``, which is ``CachePolicy/http`` afterwards. Services and requests with a policy of
    /// their own keep it. Unlike a browser's cache, it stores no response whose user it doesn't know, and none that a
    /// redirect led to.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else, which is created with the first entry, or `nil` to store in memory only.
    ///   - maximumSize: The maximum size on disk in bytes.
    /// - Returns: The config.
    public func withHTTPCache(
        in directory: URL? = ResponseCache.defaultDirectory,
        maximumSize: Int = 256 << 20
    ) -> NetworkConfig {
        var copy = self
        copy.cache =
            directory.map { ResponseCache(directory: $0, maximumSize: maximumSize) } ?? ResponseCache(disk: nil)
        copy.cachePolicy = .http
        return copy
    }
}
