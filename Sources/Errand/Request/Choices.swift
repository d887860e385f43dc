/// Who said what holds for a send.
public enum Origin: String, Sendable, Hashable, Comparable {
    case library, config, service, request

    private var rank: Int {
        switch self {
        case .library: 0
        case .config: 1
        case .service: 2
        case .request: 3
        }
    }

    public static func < (one: Origin, other: Origin) -> Bool { one.rank < other.rank }
}

/// An effective value, with who said it.
struct Choice<Value: Sendable>: Sendable {
    let value: Value
    let origin: Origin
}

extension Choice where Value: Equatable {
    /// Takes the first value that is not `inherited`: request over service over config over library.
    init(inherited: Value, request: Value, service: Value, config: Value, library: Value) {
        if request != inherited {
            self.init(value: request, origin: .request)
        } else if service != inherited {
            self.init(value: service, origin: .service)
        } else if config != inherited {
            self.init(value: config, origin: .config)
        } else {
            self.init(value: library, origin: .library)
        }
    }
}

/// The effective policies of a send.
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
    let filter: Choice<any ResponseFilter>

    init(_ request: some Request, service: Service, config: NetworkConfig) {
        authorization = Choice(
            inherited: .inherited,
            request: request.authorization,
            service: service.authorization,
            config: config.authorization,
            library: .anonymous
        )
        let limits = request.limits
        func limit<Value: Equatable & Sendable>(_ field: (Limits) -> Value?) -> Choice<Value?> {
            Choice(
                inherited: nil,
                request: field(limits),
                service: field(service.limits),
                config: field(config.limits),
                library: field(.library)
            )
        }
        timeout = limit(\.timeout)
        deadline = limit(\.deadline)
        maximumBodySize = limit(\.maximumBodySize)
        maximumHeadSize = limit(\.maximumHeadSize)
        maximumExpansion = limit(\.maximumExpansion)
        minimumInterval = limit(\.minimumInterval)
        retryPolicy = Choice(
            inherited: .inherited,
            request: request.retryPolicy,
            service: service.retryPolicy,
            config: config.retryPolicy,
            library: .standard
        )
        redirectPolicy = Choice(
            inherited: .inherited,
            request: request.redirectPolicy,
            service: service.redirectPolicy,
            config: config.redirectPolicy,
            library: .follow
        )
        cachePolicy = Choice(
            inherited: .inherited,
            request: request.cachePolicy,
            service: service.cachePolicy,
            config: config.cachePolicy,
            library: .networkOnly
        )
        filter = Self.filter(request.filter, service: service, config: config)
    }

    private static func filter(
        _ filter: any ResponseFilter,
        service: Service,
        config: NetworkConfig
    ) -> Choice<any ResponseFilter> {
        switch filter {
        case is InheritedFilter, GeneralFilter.inherited: break
        case GeneralFilter.filter(let inner): return Choice(value: inner, origin: .request)
        default: return Choice(value: filter, origin: .request)
        }
        if let filter = service.filter { return Choice(value: filter, origin: .service) }
        if let filter = config.filter { return Choice(value: filter, origin: .config) }
        return Choice(value: PassthroughFilter(), origin: .library)
    }
}
