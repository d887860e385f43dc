public import Foundation

/// One or several hosts that share headers, parameters and conventions.
///
/// Each request names its service. The properties of a service are the ones below and the properties of ``InheritedSettings``,
/// such as `service.headers`. Settings that a service does not have are taken from the ``NetworkConfig``.
@dynamicMemberLookup
public struct Service: Sendable, Identifiable {
    /// The name in contexts, plans and logs.
    public let id: String

    /// Behind one reference: each request has a service, which is copied with it for each send.
    private var shared: Shared<Content>

    private struct Content: Sendable {
        var inherited: InheritedSettings
        var baseURLVariable: String?
        var decoder: (any DataDecoder)?
    }

    /// The settings that its requests inherit.
    var inherited: InheritedSettings { _read { yield shared.value.inherited } }

    /// The settings that a send reads at its start; not inlined, because all settings would be copied there.
    @inline(never)
    func atStart() -> (deadline: Duration?, accessories: [any Accessory]) {
        (shared.value.inherited.limits.deadline, shared.value.inherited.accessories)
    }

    /// Returns the service's own filter, or an inherited one.
    ///
    /// Like ``decoding(over:)`` a function, because an optional value of any type takes long to copy.
    func resolvedFilter(over inherited: ResolvedSetting<any ResponseFilter>) -> ResolvedSetting<any ResponseFilter> {
        guard let filter = shared.value.inherited.filter else { return inherited }
        return ResolvedSetting(value: filter, source: .service)
    }

    /// Returns the decoding with the service's own decoder, or the config's.
    func decoding(over config: ConfigSnapshot) -> Payload.Decoding {
        guard let decoder = shared.value.decoder else { return config.decoding }
        return Payload.Decoding(decoder)
    }

    /// The name of an environment variable that replaces the base URL if it is set and not empty, or `nil` for none.
    public var baseURLVariable: String? {
        get { shared.value.baseURLVariable }
        set { shared.value.baseURLVariable = newValue }
    }

    /// The decoder for requests whose formatter has none, or `nil` for the config's.
    public var decoder: (any DataDecoder)? {
        get { shared.value.decoder }
        set { shared.value.decoder = newValue }
    }

    /// The cache in which the responses of its requests are stored.
    ///
    /// `.inherited`, the default, is the config's.
    public var cacheStorage: CacheStorage {
        get { shared.value.inherited.cacheStorage }
        set { shared.value.inherited.cacheStorage = newValue }
    }

    /// A property of ``InheritedSettings``.
    public subscript<Value>(dynamicMember member: WritableKeyPath<InheritedSettings, Value>) -> Value {
        @inline(__always) get { shared.value.inherited[keyPath: member] }
        @inline(__always) _modify { yield &shared.value.inherited[keyPath: member] }
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
        var own = InheritedSettings(baseURL: baseURL, cdnURL: cdnURL, cdnFallbacks: cdnFallbacks)
        (own.credentialOrigins, own.headers, own.parameters) = (credentialOrigins, headers, parameters)
        (own.parameterEncoding, own.authorization, own.limits) = (parameterEncoding, authorization, limits)
        (own.authentication, own.acceptance, own.filter) = (authentication, acceptance, filter)
        (own.urlFilters, own.adapters, own.interceptors) = (urlFilters, adapters, interceptors)
        (own.sendInterceptors, own.accessories, own.sendGates) = (sendInterceptors, accessories, sendGates)
        (own.retryPolicy, own.redirectPolicy) = (retryPolicy, redirectPolicy)
        (own.cachePolicy, own.throttle) = (cachePolicy, throttle)
        own.cacheStorage = cacheStorage
        self.id = id
        shared = Shared(Content(inherited: own, baseURLVariable: baseURLVariable, decoder: decoder))
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
