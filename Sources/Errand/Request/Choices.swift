/// The source of a resolved setting.
public enum Origin: String, Sendable, Hashable, Comparable {
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
    public static func < (one: Origin, other: Origin) -> Bool { one.rank < other.rank }
}

/// A resolved value and its source.
struct Choice<Value: Sendable>: Sendable {
    let value: Value
    let origin: Origin
}

extension Choice {
    /// Takes the first value that isn't `nil`: request over service over config over library.
    @inline(__always)
    init<Wrapped>(_ request: Wrapped?, _ service: Wrapped?, _ config: Wrapped?, _ library: Wrapped?)
    where Value == Wrapped? {
        if let request {
            self.init(value: request, origin: .request)
        } else if let service {
            self.init(value: service, origin: .service)
        } else if let config {
            self.init(value: config, origin: .config)
        } else {
            self.init(value: library, origin: .library)
        }
    }
}

/// A policy that can be inherited from the service or the config.
protocol Inheritable {
    /// Whether the value is inherited.
    var isInherited: Bool { get }
}

extension Authentication: Inheritable { var isInherited: Bool { self == .inherited } }
extension Authorization: Inheritable { var isInherited: Bool { scheme == .inherited } }
extension CachePolicy: Inheritable { var isInherited: Bool { if case .inherited = self { true } else { false } } }
extension RedirectPolicy: Inheritable { var isInherited: Bool { maximumHops == nil } }
extension RetryPolicy: Inheritable { var isInherited: Bool { maximumAttempts == nil } }
extension Throttle: Inheritable {}

extension Choice where Value: Inheritable {
    /// Takes the first value that isn't inherited: request over service over config over library.
    @inline(__always)
    init(request: Value?, service: Value, config: Value, library: @autoclosure () -> Value) {
        if let request, !request.isInherited {
            self.init(value: request, origin: .request)
        } else if !service.isInherited {
            self.init(value: service, origin: .service)
        } else if !config.isInherited {
            self.init(value: config, origin: .config)
        } else {
            self.init(value: library(), origin: .library)
        }
    }
}

/// The resolved settings of a send.
struct Choices: Sendable {
    let authorization: Choice<Authorization>
    let timeout: Choice<Duration?>
    let deadline: Choice<Duration?>
    let maximumBodySize: Choice<Int?>
    let maximumHeadSize: Choice<Int?>
    let maximumExpansion: Choice<Int?>
    let minimumInterval: Choice<Duration?>
    let retryPolicy: Choice<RetryPolicy>
    let redirectPolicy: Choice<RedirectPolicy>
    let cachePolicy: Choice<CachePolicy>
    let throttle: Choice<Throttle>
    let filter: Choice<any ResponseFilter>
}

extension RequestValues {
    /// Resolves each setting: the request's over the service's over the config's over the library's.
    ///
    /// A function and not an initializer, which would copy all that the request declares.
    func resolved(_ config: ConfigSnapshot) -> Choices {
        let (own, base, general, library) = (limits, service.limits, config.value.limits, Limits.library)
        return Choices(
            authorization: Choice(
                request: authorization,
                service: service.authorization,
                config: config.value.authorization,
                library: .anonymous
            ),
            timeout: Choice(own.timeout, base.timeout, general.timeout, library.timeout),
            deadline: Choice(own.deadline, base.deadline, general.deadline, library.deadline),
            maximumBodySize: Choice(
                own.maximumBodySize,
                base.maximumBodySize,
                general.maximumBodySize,
                library.maximumBodySize
            ),
            maximumHeadSize: Choice(
                own.maximumHeadSize,
                base.maximumHeadSize,
                general.maximumHeadSize,
                library.maximumHeadSize
            ),
            maximumExpansion: Choice(
                own.maximumExpansion,
                base.maximumExpansion,
                general.maximumExpansion,
                library.maximumExpansion
            ),
            minimumInterval: Choice(
                own.minimumInterval,
                base.minimumInterval,
                general.minimumInterval,
                library.minimumInterval
            ),
            retryPolicy: Choice(
                request: retryPolicy,
                service: service.retryPolicy,
                config: config.value.retryPolicy,
                library: .standard
            ),
            redirectPolicy: Choice(
                request: redirectPolicy,
                service: service.redirectPolicy,
                config: config.value.redirectPolicy,
                library: .follow
            ),
            cachePolicy: Choice(
                request: cachePolicy,
                service: service.cachePolicy,
                config: config.value.cachePolicy,
                library: .networkOnly
            ),
            throttle: Choice(
                request: nil,
                service: service.throttle,
                config: config.value.throttle,
                library: .unlimited
            ),
            filter: resolvedFilter(config)
        )
    }

    private func resolvedFilter(_ config: ConfigSnapshot) -> Choice<any ResponseFilter> {
        if case .filter(let filter) = filter { return Choice(value: filter, origin: .request) }
        if let filter = service.filter { return Choice(value: filter, origin: .service) }
        if let filter = config.value.filter { return Choice(value: filter, origin: .config) }
        return Choice(value: PassthroughFilter(), origin: .library)
    }
}
