internal import Foundation
internal import Synchronization

/// The `Sendable` snapshot of a request that the pipeline runs on; it refers to none of the request's own types.
///
/// A class, because it is passed around often and is large.
final class PreparedRequest: Sendable {
    let context: RequestContext
    /// The request before adapters; what every send reads is read here, because ``outgoing`` is a copy.
    let built: BuiltRequest
    /// The same request below the further URLs of the CDN, in order.
    let fallbacks: [BuiltRequest]
    /// The declarations of config, service and request.
    let settings: Settings
    let adapters: [any RequestAdapter]
    let interceptors: [any Interceptor]
    /// The interceptors of each exchange, which are among ``interceptors``.
    let exchangeInterceptors: [ExchangeHook]
    let sendInterceptors: [any SendInterceptor]
    /// The session whose credential the request sends, or `nil` for none.
    let pinnedCredential: PinnedCredential?
    /// A digest of the identity of the transport, or an empty text if it has none.
    let transportIdentity: String
    let accessories: AccessoryChain
    /// How the cache is used, or `nil` if it is not.
    let cacheUse: CacheUse?
    /// The credential scopes of adapters and interceptors when the request was prepared.
    let scopes: [String?]
    /// Whether another user than the prepared one was seen; `nil` if nothing is shared or stored.
    let userCheck: UserCheck?
    /// Whether its gates have admitted it, which they decide once.
    let isAdmitted = Atomic(false)
    /// Whether a body that can be read only once was passed to the transport.
    let hasSentSingleUseBody = Atomic(false)
    /// Whether its attempts need no permit, because sends that hold one wait for it.
    let isPassing: Bool
    /// The type of the request.
    let typeID: ObjectIdentifier
    /// The gates that decide whether it may be sent.
    let sendGates: [any SendGate]
    /// The time that its attempts waited for permits, or `nil` if nothing is throttled.
    let queued: Lock<Duration>?
    /// What the JSON guard rejects at stage 7, because what follows decodes the body without a guard of its own.
    let guarding: JSONGuard.Strictness
    /// Whether the formatter is the user's own and decodes a payload that was not guarded.
    let guardsPayload: Bool
    /// Takes the body of an acceptable response in place of memory, or `nil`.
    let receiver: (any BodyReceiver)?
    /// The deadline of the send, or `nil` for none.
    let deadline: Deadline?
    /// Ends the send from outside its task.
    let stop: StopSignal

    /// Creates a prepared request from the declarations of the request, its service and the config.
    init(
        _ content: borrowing RequestContent,
        of settings: Settings,
        as context: RequestContext,
        typeID: ObjectIdentifier,
        built: BuiltRequest,
        fallbacks: [BuiltRequest],
        pinnedCredential: PinnedCredential?,
        transportIdentity: String,
        accessories: AccessoryChain,
        deadline: Deadline?,
        stop: StopSignal,
        step: CacheStep
    ) {
        let config = settings.config
        self.context = context
        isPassing = false
        self.settings = settings
        self.built = built
        self.fallbacks = fallbacks
        self.pinnedCredential = pinnedCredential
        self.transportIdentity = transportIdentity
        adapters = config.value.adapters.and(settings.request.service.adapters)
        interceptors = config.value.interceptors.and(settings.request.service.interceptors)
        exchangeInterceptors = ExchangeHook.hooks(interceptors, after: adapters.count, for: built.outgoing.url)
        sendInterceptors = config.value.sendInterceptors.and(settings.request.service.sendInterceptors)
        self.accessories = accessories
        // A body that is not in memory is neither stored nor given to others.
        let isInMemory = content.receiver == nil
        cacheUse =
            isInMemory ? CacheUse.of(settings.cachePolicy.value, step: step, cache: settings.cache) : nil
        let isGivenToOthers = isInMemory && (cacheUse != nil || settings.request.duplicatePolicy == .share)
        // The cookies of a jar are compared only if they matter.
        let countsCookies = isGivenToOthers || !isInMemory
        scopes =
            adapters.map { $0.credentialScope(for: context) }
            + interceptors.map { hook in
                countsCookies || !(hook is any ExchangeInterceptor) ? hook.credentialScope(for: context) : ""
            }
        let isKept = isGivenToOthers || content.receiver?.isStream == false
        userCheck = isKept && !scopes.isEmpty && !scopes.contains(nil) ? UserCheck() : nil
        self.typeID = typeID
        sendGates = config.value.sendGates.and(settings.request.service.sendGates)
        queued = settings.throttle.value.isLimited ? Lock(.zero) : nil
        guarding = content.guarding
        guardsPayload = content.guardsPayload
        receiver = content.receiver
        self.deadline = deadline
        self.stop = stop
    }

    /// Creates the same request as a separate send, without accessories, with a new number and a new deadline.
    convenience init(inBackground other: PreparedRequest, id: Int, timeline: Timeline) {
        var context = other.context
        context.id = id
        let deadline = other.deadline.map { Deadline($0.limit, from: timeline.now(), on: timeline) }
        self.init(
            other,
            as: context,
            notifying: AccessoryChain([]),
            deadline: deadline,
            check: other.userCheck.map { _ in UserCheck() },
            pinnedCredential: other.pinnedCredential.map(PinnedCredential.init(inBackground:))
        )
    }

    /// Creates the same request of the same send, below another URL of the CDN.
    convenience init(_ other: PreparedRequest, at fallback: BuiltRequest) {
        var context = other.context
        (context.url, context.declared) = (fallback.outgoing.url, fallback.outgoing.declared)
        context.allowsCredentials = fallback.credentials.areSent
        self.init(
            other,
            as: context,
            notifying: other.accessories,
            deadline: other.deadline,
            isPassing: other.isPassing,
            at: fallback,
            endedBy: other.stop
        )
    }

    /// Creates the same request for another send of it, with other accessories and another deadline.
    ///
    /// Another user that is seen during this send also matters to the send that waits for it.
    init(
        _ other: PreparedRequest,
        as context: RequestContext? = nil,
        notifying accessories: AccessoryChain,
        deadline: Deadline?,
        check: UserCheck? = nil,
        isPassing: Bool = false,
        pinnedCredential: PinnedCredential? = nil,
        at fallback: BuiltRequest? = nil,
        endedBy stop: StopSignal = StopSignal()
    ) {
        self.isPassing = isPassing
        self.context = context ?? other.context
        settings = other.settings
        built = fallback ?? other.built
        fallbacks = fallback == nil ? other.fallbacks : []
        adapters = other.adapters
        interceptors = other.interceptors
        exchangeInterceptors = other.exchangeInterceptors
        sendInterceptors = other.sendInterceptors
        self.pinnedCredential = pinnedCredential ?? other.pinnedCredential
        transportIdentity = other.transportIdentity
        self.accessories = accessories
        cacheUse = other.cacheUse
        scopes = other.scopes
        userCheck = check ?? other.userCheck
        typeID = other.typeID
        sendGates = other.sendGates
        queued = other.queued
        guarding = other.guarding
        guardsPayload = other.guardsPayload
        receiver = other.receiver
        self.deadline = deadline
        self.stop = stop
    }

    /// The request before adapters.
    var outgoing: OutgoingRequest { built.outgoing }
    /// Whether credentials of the config and the service are sent.
    var credentials: CredentialDecision { built.credentials }
    /// The place of the parameters of the config and the service.
    var baseParameters: BaseParameterPlace { built.baseParameters }
    /// How to remove them again, or `nil` if none are sent.
    var baseRemoval: BaseParameterRemoval? { built.baseRemoval }
    /// The origin of the request's own URL, before URL filters.
    var requestOrigin: Origin { built.requestOrigin }

    /// The origins of its URL and of those of the CDN, before and after URL filters.
    var ownOrigins: [Origin] { ([built] + fallbacks).flatMap { [$0.requestOrigin, $0.credentials.origin] } }

    /// The resolved settings of the send.
    var resolved: Settings { settings }
    var acceptance: Acceptance { resolved.acceptance.value }
    var priority: Priority { settings.request.priority }
    var cacheIdentity: CacheIdentity { settings.request.cacheIdentity }
    /// That of the request, but never ``DuplicatePolicy/share`` for a body that is not in memory.
    var duplicatePolicy: DuplicatePolicy {
        let own = settings.request.duplicatePolicy
        return own == .share && receiver != nil ? .allow : own
    }
    /// The request's own duplicate key, or an empty string if it has none.
    var duplicateKey: String { settings.request.duplicateKey }

    /// The origin of the URL: scheme, host and port.
    var origin: Origin { credentials.origin }

    /// What is redacted, and removed from requests to another origin.
    var secrets: Secrets { settings.config.value.secrets }

    /// The decoding of its response, if the formatter has none of its own.
    var decoding: Payload.Decoding { settings.request.service.decoding(over: settings.config) }
    /// The decoder used if the formatter has none of its own.
    var decoder: any DataDecoder { decoding.decoder }

    /// The maximum number of retries for one host.
    var retryBudget: RetryBudget { settings.config.value.retryBudget }

    /// Whether the config has a cache, whose entries an unsafe method invalidates, whatever the policy.
    var hasCache: Bool { settings.config.value.cache != nil || !settings.config.value.namedCaches.isEmpty }

    /// The filter that unwraps the response.
    var filter: any ResponseFilter { resolved.filter.value }

    /// The maximum size of the body; the limits for bodies in memory are not for those that a receiver takes.
    private var maximumBodySize: Int {
        let limit = resolved.maximumBodySize
        return receiver != nil && limit.source != .request ? .max : limit.value ?? .max
    }

    /// The limits of one exchange.
    var transportOptions: TransportOptions { transportOptions(reportingProgress: !accessories.isEmpty) }

    /// Returns the limits of one exchange, whose progress is reported to accessories or not.
    @inline(never)
    func transportOptions(reportingProgress: Bool) -> TransportOptions {
        var options = TransportOptions(
            idleTimeout: resolved.timeout.value ?? .seconds(60),
            readAhead: receiver != nil ? 0 : reportingProgress ? Int(ProgressSteps.smallest) : .max,
            maximumBodySize: maximumBodySize,
            maximumHeaderSize: resolved.maximumHeaderSize.value ?? .max,
            maximumExpansion: resolved.maximumExpansion.value ?? .max,
            allowsCellularAccess: settings.request.allowsCellularAccess
        )
        options.isStream = receiver?.isStream ?? false
        return options
    }
}

/// An interceptor of each exchange, and its place among the hooks of the request.
struct ExchangeHook: Sendable {
    let hook: Int
    let interceptor: any ExchangeInterceptor
    /// The identity of the user when the request was prepared, or `nil` if there was none.
    let identity: String?

    /// Whether another one is of the same interceptor.
    func isSame(as other: ExchangeHook) -> Bool { interceptor as AnyObject === other.interceptor as AnyObject }

    /// Whether the identity is still that of the interceptor.
    var isCurrent: Bool { identity.map(interceptor.isCurrent) ?? true }

    /// Returns those of a list of interceptors that wrap each exchange, the outermost first.
    static func hooks(_ interceptors: [any Interceptor], after adapterCount: Int, for url: URL) -> [ExchangeHook] {
        if interceptors.isEmpty { return [] }
        let hooks = interceptors.enumerated().compactMap { place, interceptor in
            (interceptor as? any ExchangeInterceptor).map {
                ExchangeHook(hook: adapterCount + place, interceptor: $0, identity: $0.identity(for: url))
            }
        }
        // Of several jars, that of the service replaces that of the config.
        return hooks.filter { !$0.interceptor.isInnermost } + hooks.filter(\.interceptor.isInnermost).suffix(1)
    }
}

/// The result of building a request.
struct BuiltRequest: Sendable {
    let outgoing: OutgoingRequest
    let credentials: CredentialDecision
    let requestOrigin: Origin
    let baseParameters: BaseParameterPlace
    let baseRemoval: BaseParameterRemoval?

    init(
        _ outgoing: consuming OutgoingRequest,
        credentials: CredentialDecision,
        requestOrigin: Origin,
        baseParameters: BaseParameterPlace = .absent,
        baseRemoval: BaseParameterRemoval? = nil
    ) {
        if !outgoing.body.isReplayable { outgoing = outgoing.guardedAgainstReuse }
        self.outgoing = outgoing
        self.credentials = credentials
        self.requestOrigin = requestOrigin
        self.baseParameters = baseParameters
        self.baseRemoval = baseRemoval
    }
}
