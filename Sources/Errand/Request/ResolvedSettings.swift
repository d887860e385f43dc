/// The source of a resolved setting.
public enum SettingSource: String, Sendable, Hashable, Comparable {
    /// The sources in ascending precedence: a value of `request` overrides `service`, `config` and `library`.
    case library, config, service, request

    private var rank: Int {
        switch self {
        case .library: 0
        case .config: 1
        case .service: 2
        case .request: 3
        }
    }

    /// Whether the first source has the lower precedence.
    public static func < (one: SettingSource, other: SettingSource) -> Bool { one.rank < other.rank }
}

/// A resolved value and its source.
struct ResolvedSetting<Value: Sendable>: Sendable {
    let value: Value
    let source: SettingSource
}

/// A setting that can be inherited from the service or the config.
protocol Inheritable {
    /// Whether the value is inherited.
    var isInherited: Bool { get }
}

extension Acceptance: Inheritable { fileprivate static let standard = Acceptance() }
extension Authentication: Inheritable { var isInherited: Bool { self == .inherited } }
extension Authorization: Inheritable { var isInherited: Bool { scheme == .inherited } }
extension CachePolicy: Inheritable { var isInherited: Bool { if case .inherited = self { true } else { false } } }
extension CacheStorage: Inheritable { var isInherited: Bool { self == .inherited } }
extension RedirectPolicy: Inheritable { var isInherited: Bool { maximumHops == nil } }
extension RetryPolicy: Inheritable { var isInherited: Bool { maximumAttempts == nil } }
extension Optional: Inheritable { var isInherited: Bool { if case .none = self { true } else { false } } }
extension ParameterEncoding: Inheritable {}
extension Throttle: Inheritable {}

// Each setting, resolved when it is read: the request's over the service's over the config's over the library's.
extension Settings {
    var authorization: ResolvedSetting<Authorization> { resolved(request.authorization, \.authorization, .anonymous) }
    var retryPolicy: ResolvedSetting<RetryPolicy> { resolved(request.retryPolicy, \.retryPolicy, .standard) }
    var redirectPolicy: ResolvedSetting<RedirectPolicy> { resolved(request.redirectPolicy, \.redirectPolicy, .follow) }
    var cachePolicy: ResolvedSetting<CachePolicy> { resolved(request.cachePolicy, \.cachePolicy, .networkOnly) }
    var acceptance: ResolvedSetting<Acceptance> { resolved(request.acceptance, \.acceptance, .standard) }
    var throttle: ResolvedSetting<Throttle> { resolved(.inherited, \.throttle, .unlimited) }
    var authentication: ResolvedSetting<Authentication> { resolved(.inherited, \.authentication, .anonymous) }
    var cacheStorage: ResolvedSetting<CacheStorage> { resolved(request.cacheStorage, \.cacheStorage, .standard) }

    var timeout: ResolvedSetting<Duration?> {
        resolved(request.limits.timeout, \.limits.timeout, Limits.library.timeout)
    }
    var deadline: ResolvedSetting<Duration?> {
        resolved(request.limits.deadline, \.limits.deadline, Limits.library.deadline)
    }
    var maximumBodySize: ResolvedSetting<Int?> {
        resolved(request.limits.maximumBodySize, \.limits.maximumBodySize, Limits.library.maximumBodySize)
    }
    var maximumHeaderSize: ResolvedSetting<Int?> {
        resolved(request.limits.maximumHeaderSize, \.limits.maximumHeaderSize, Limits.library.maximumHeaderSize)
    }
    var maximumExpansion: ResolvedSetting<Int?> {
        resolved(request.limits.maximumExpansion, \.limits.maximumExpansion, Limits.library.maximumExpansion)
    }
    var minimumInterval: ResolvedSetting<Duration?> {
        resolved(request.limits.minimumInterval, \.limits.minimumInterval, Limits.library.minimumInterval)
    }

    /// The format of the innermost encoding that has one; the styles of those inside replace its own.
    var parameterEncoding: ResolvedSetting<ParameterEncoding> {
        let source = resolved(request.parameterEncoding, \.parameterEncoding, .automatic).source
        if source == .library { return ResolvedSetting(value: .automatic, source: source) }
        let inherited = request.service.parameterEncoding.over(config.value.parameterEncoding.over(.automatic))
        return ResolvedSetting(value: request.parameterEncoding.over(inherited), source: source)
    }

    @inline(__always)
    private func resolved<Value: Inheritable>(
        _ own: @autoclosure () -> Value,
        _ member: KeyPath<InheritedSettings, Value>,
        _ library: @autoclosure () -> Value
    ) -> ResolvedSetting<Value> {
        // Closures and key paths, because an argument would be copied.
        if !own().isInherited { return ResolvedSetting(value: own(), source: .request) }
        if !request.service.inherited[keyPath: member].isInherited {
            return ResolvedSetting(value: request.service.inherited[keyPath: member], source: .service)
        }
        if !config.value.inherited[keyPath: member].isInherited {
            return ResolvedSetting(value: config.value.inherited[keyPath: member], source: .config)
        }
        return ResolvedSetting(value: library(), source: .library)
    }
}

extension Settings {
    /// The cache in which responses are stored, or `nil` if there is none.
    var cache: ResponseCache? {
        if case .named(let name) = cacheStorage.value { return config.value.namedCaches[name] }
        return config.value.cache
    }
}
