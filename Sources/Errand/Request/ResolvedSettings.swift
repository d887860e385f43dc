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

extension ResolvedSetting {
    /// Takes the first value that isn't `nil`: request over service over config over library.
    @inline(__always)
    init<Wrapped>(_ request: Wrapped?, _ service: Wrapped?, _ config: Wrapped?, _ library: Wrapped?)
    where Value == Wrapped? {
        if let request {
            self.init(value: request, source: .request)
        } else if let service {
            self.init(value: service, source: .service)
        } else if let config {
            self.init(value: config, source: .config)
        } else {
            self.init(value: library, source: .library)
        }
    }
}

/// A policy that can be inherited from the service or the config.
protocol Inheritable {
    /// Whether the value is inherited.
    var isInherited: Bool { get }
}

extension Acceptance: Inheritable {}
extension Authentication: Inheritable { var isInherited: Bool { self == .inherited } }
extension Authorization: Inheritable { var isInherited: Bool { scheme == .inherited } }
extension CachePolicy: Inheritable { var isInherited: Bool { if case .inherited = self { true } else { false } } }
extension CacheStorage: Inheritable { var isInherited: Bool { self == .inherited } }
extension RedirectPolicy: Inheritable { var isInherited: Bool { maximumHops == nil } }
extension RetryPolicy: Inheritable { var isInherited: Bool { maximumAttempts == nil } }
extension Throttle: Inheritable {}

extension ResolvedSetting where Value: Inheritable {
    /// Takes the first value that isn't inherited: request over service over config over library.
    @inline(__always)
    init(
        request: @autoclosure () -> Value,
        service: @autoclosure () -> Value,
        config: @autoclosure () -> Value,
        library: @autoclosure () -> Value
    ) {
        // Closures, because an argument would be copied.
        if !request().isInherited {
            self.init(value: request(), source: .request)
        } else if !service().isInherited {
            self.init(value: service(), source: .service)
        } else if !config().isInherited {
            self.init(value: config(), source: .config)
        } else {
            self.init(value: library(), source: .library)
        }
    }
}

/// The resolved settings of a send.
struct ResolvedSettings: Sendable {
    let authorization: ResolvedSetting<Authorization>
    let timeout: ResolvedSetting<Duration?>
    let deadline: ResolvedSetting<Duration?>
    let maximumBodySize: ResolvedSetting<Int?>
    let maximumHeaderSize: ResolvedSetting<Int?>
    let maximumExpansion: ResolvedSetting<Int?>
    let minimumInterval: ResolvedSetting<Duration?>
    let retryPolicy: ResolvedSetting<RetryPolicy>
    let redirectPolicy: ResolvedSetting<RedirectPolicy>
    let cachePolicy: ResolvedSetting<CachePolicy>
    let cacheStorage: ResolvedSetting<CacheStorage>
    let acceptance: ResolvedSetting<Acceptance>
    let parameterEncoding: ResolvedSetting<ParameterEncoding>
    let throttle: ResolvedSetting<Throttle>
    let filter: ResolvedSetting<any ResponseFilter>
}

extension RequestValues {
    /// Resolves each setting: the request's over the service's over the config's over the library's.
    ///
    /// A function and not an initializer, which would copy all that the request declares.
    func resolved(_ config: ConfigSnapshot) -> ResolvedSettings {
        let (own, base, general, library) = (limits, service.limits, config.value.limits, Limits.library)
        return ResolvedSettings(
            authorization: ResolvedSetting(
                request: authorization,
                service: service.authorization,
                config: config.value.authorization,
                library: .anonymous
            ),
            timeout: ResolvedSetting(own.timeout, base.timeout, general.timeout, library.timeout),
            deadline: ResolvedSetting(own.deadline, base.deadline, general.deadline, library.deadline),
            maximumBodySize: ResolvedSetting(
                own.maximumBodySize,
                base.maximumBodySize,
                general.maximumBodySize,
                library.maximumBodySize
            ),
            maximumHeaderSize: ResolvedSetting(
                own.maximumHeaderSize,
                base.maximumHeaderSize,
                general.maximumHeaderSize,
                library.maximumHeaderSize
            ),
            maximumExpansion: ResolvedSetting(
                own.maximumExpansion,
                base.maximumExpansion,
                general.maximumExpansion,
                library.maximumExpansion
            ),
            minimumInterval: ResolvedSetting(
                own.minimumInterval,
                base.minimumInterval,
                general.minimumInterval,
                library.minimumInterval
            ),
            retryPolicy: ResolvedSetting(
                request: retryPolicy,
                service: service.retryPolicy,
                config: config.value.retryPolicy,
                library: .standard
            ),
            redirectPolicy: ResolvedSetting(
                request: redirectPolicy,
                service: service.redirectPolicy,
                config: config.value.redirectPolicy,
                library: .follow
            ),
            cachePolicy: ResolvedSetting(
                request: cachePolicy,
                service: service.cachePolicy,
                config: config.value.cachePolicy,
                library: .networkOnly
            ),
            cacheStorage: ResolvedSetting(
                request: cacheStorage,
                service: service.cacheStorage,
                config: .inherited,
                library: .standard
            ),
            acceptance: ResolvedSetting(
                request: acceptance,
                service: service.acceptance,
                config: config.value.acceptance,
                library: Acceptance()
            ),
            parameterEncoding: resolvedEncoding(config),
            throttle: ResolvedSetting(
                request: .inherited,
                service: service.throttle,
                config: config.value.throttle,
                library: .unlimited
            ),
            filter: resolvedFilter(config)
        )
    }

    /// The format of the innermost encoding that has one; the styles of those inside replace its own.
    private func resolvedEncoding(_ config: ConfigSnapshot) -> ResolvedSetting<ParameterEncoding> {
        let (service, config) = (service.parameterEncoding, config.value.parameterEncoding)
        let source: SettingSource =
            !parameterEncoding.isInherited
            ? .request : !service.isInherited ? .service : !config.isInherited ? .config : .library
        if source == .library { return ResolvedSetting(value: .automatic, source: source) }
        return ResolvedSetting(value: parameterEncoding.over(service.over(config.over(.automatic))), source: source)
    }

    private func resolvedFilter(_ config: ConfigSnapshot) -> ResolvedSetting<any ResponseFilter> {
        if case .filter(let filter) = filter { return ResolvedSetting(value: filter, source: .request) }
        return service.resolvedFilter(over: config.filter)
    }
}
