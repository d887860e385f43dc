internal import Synchronization

/// The `Sendable` snapshot of a request, on which the pipeline runs: nothing in it refers to the request's own types.
///
/// A class, for it goes through many hands and is large.
final class PreparedRequest: Sendable {
    let context: RequestContext
    /// What is sent, before adapters.
    let outgoing: OutgoingRequest
    /// Whether credentials of config and service are sent.
    let credentials: CredentialDecision
    /// Where parameters of config and service are.
    let baseParameters: BaseParameterPlace
    /// How they are taken out again; `nil` if none are sent.
    let baseRemoval: BaseParameterRemoval?
    /// The origin of the request's own URL, before URL filters.
    let requestOrigin: String
    /// What config, service and request declare.
    let settings: Settings
    let adapters: [any RequestAdapter]
    let interceptors: [any Interceptor]
    let sendInterceptors: [any SendInterceptor]
    /// Whose login the request shows; `nil` when none.
    let login: PinnedCredential?
    let accessories: AccessoryChain
    /// How the cache is used; `nil` when it is not.
    let cacheUse: CacheUse?
    /// Whose credentials adapters add, where that was asked when the request was prepared.
    let pinnedScopes: [String]?
    /// Compares what is sent with what was identified; `nil` where nothing is shared or stored, or nothing can change.
    let identityCheck: IdentityCheck?
    /// Whether a body that can be read once was handed to the transport.
    let hasSentSingleUseBody = Atomic(false)
    /// Whether its attempts wait for no permit, because others that hold one wait for them.
    let isPassing: Bool
    /// The type of the request.
    let typeID: ObjectIdentifier
    /// Asked whether it may be sent.
    let sendGates: [any SendGate]
    /// How long its attempts waited for their turns; `nil` when nothing is throttled.
    let queued: Lock<Duration>?
    /// What the JSON guard refuses at stage 7, because what follows decodes the body and does not guard itself.
    let guarding: JSONGuard.Strictness
    /// Whether the formatter is the user's own and decodes what nobody has guarded.
    let guardsPayload: Bool
    /// When the send must be over; `nil` is never.
    let deadline: Deadline?
    /// Ends the send from outside its task.
    let stop: StopSignal

    /// Takes what the request, its service and the config say together.
    init(
        _ content: RequestContent,
        of settings: Settings,
        as context: RequestContext,
        typeID: ObjectIdentifier,
        built: BuiltRequest,
        login: PinnedCredential?,
        accessories: AccessoryChain,
        deadline: Deadline?,
        stop: StopSignal,
        step: CacheStep
    ) {
        let config = settings.config
        self.context = context
        isPassing = false
        self.settings = settings
        outgoing = built.outgoing.body.isReplayable ? built.outgoing : built.outgoing.guardedAgainstReuse
        credentials = built.credentials
        baseParameters = built.baseParameters
        baseRemoval = built.baseRemoval
        requestOrigin = built.requestOrigin
        self.login = login
        adapters = config.value.adapters.and(settings.request.service.adapters)
        interceptors = config.value.interceptors.and(settings.request.service.interceptors)
        sendInterceptors = config.value.sendInterceptors.and(settings.request.service.sendInterceptors)
        self.accessories = accessories
        cacheUse = CacheUse.of(settings.choices.cachePolicy.value, step: step, cache: config.value.cache)
        let isGivenToOthers = cacheUse != nil || settings.request.duplicatePolicy == .share
        let mayChange = !(adapters.isEmpty && interceptors.isEmpty)
        identityCheck = isGivenToOthers && mayChange ? IdentityCheck() : nil
        pinnedScopes = isGivenToOthers ? adapters.map { $0.credentialScope(for: context) ?? "" } : nil
        self.typeID = typeID
        sendGates = config.value.sendGates.and(settings.request.service.sendGates)
        queued = settings.choices.throttle.value.isLimited ? Lock(.zero) : nil
        guarding = content.guarding
        guardsPayload = content.guardsPayload
        self.deadline = deadline
        self.stop = stop
    }

    /// The same request for another send of it: what happens is told to others, and it ends when it is told to or at
    /// this deadline.
    convenience init(
        _ other: PreparedRequest,
        telling accessories: AccessoryChain,
        deadline: Deadline?,
        isPassing: Bool
    ) {
        // What is found out about this send holds for the one that waits for it.
        let check = other.identityCheck
        self.init(
            other,
            as: other.context,
            telling: accessories,
            deadline: deadline,
            check: check,
            isPassing: isPassing
        )
    }

    /// The same request as a send of its own: without accessories, with a new number and its time anew.
    convenience init(behind other: PreparedRequest, id: Int, timeline: Timeline) {
        let context = RequestContext(
            id: id,
            typeName: other.context.typeName,
            method: other.context.method,
            url: other.context.url,
            serviceID: other.context.serviceID,
            tag: other.context.tag,
            attempt: 0,
            attributes: other.context.attributes,
            allowsCredentials: other.context.allowsCredentials
        )
        let deadline = other.deadline.map { Deadline($0.limit, from: timeline.now(), on: timeline) }
        let check = other.identityCheck.map { _ in IdentityCheck() }
        self.init(other, as: context, telling: AccessoryChain([]), deadline: deadline, check: check, isPassing: false)
    }

    private init(
        _ other: PreparedRequest,
        as context: RequestContext,
        telling accessories: AccessoryChain,
        deadline: Deadline?,
        check: IdentityCheck?,
        isPassing: Bool
    ) {
        self.isPassing = isPassing
        self.context = context
        settings = other.settings
        credentials = other.credentials
        baseParameters = other.baseParameters
        baseRemoval = other.baseRemoval
        requestOrigin = other.requestOrigin
        outgoing = other.outgoing
        adapters = other.adapters
        interceptors = other.interceptors
        sendInterceptors = other.sendInterceptors
        login = other.login
        self.accessories = accessories
        cacheUse = other.cacheUse
        pinnedScopes = other.pinnedScopes
        identityCheck = check
        typeID = other.typeID
        sendGates = other.sendGates
        queued = other.queued
        guarding = other.guarding
        guardsPayload = other.guardsPayload
        self.deadline = deadline
        stop = StopSignal()
    }

    /// What holds for the send, and who declared it.
    var choices: Choices { settings.choices }
    var acceptance: Acceptance { settings.request.acceptance }
    var priority: Priority { settings.request.priority }
    var cacheIdentity: CacheIdentity { settings.request.cacheIdentity }
    var duplicatePolicy: DuplicatePolicy { settings.request.duplicatePolicy }
    /// The key of its own by which it equals others; empty when it has none.
    var duplicateKey: String { settings.request.duplicateKey }

    /// Where to: scheme, host and port.
    var origin: String { credentials.origin }

    /// What must not be told to anyone, nor leave for another origin.
    var secrets: Secrets { settings.config.value.secrets }

    /// Makes values of JSON where the formatter names no decoder.
    var decoder: any DataDecoder { settings.request.service.decoder ?? settings.config.value.decoder }

    /// How many retries one host gets.
    var retryBudget: RetryBudget { settings.config.value.retryBudget }

    /// The cache whose entries an unsafe method makes void, whatever the policy; `nil` where the config has none.
    var cache: ResponseCache? { settings.config.value.cache }

    /// The filter that opens the answer.
    var filter: any ResponseFilter { choices.filter.value }

    /// The limits of one exchange.
    var transportOptions: TransportOptions {
        TransportOptions(
            idleTimeout: choices.timeout.value ?? .seconds(60),
            readAhead: accessories.isEmpty ? .max : Int(ProgressSteps.smallest),
            maximumBodySize: choices.maximumBodySize.value ?? .max,
            maximumHeadSize: choices.maximumHeadSize.value ?? .max,
            maximumExpansion: choices.maximumExpansion.value ?? .max
        )
    }
}

/// What building makes of a request.
struct BuiltRequest {
    let outgoing: OutgoingRequest
    let credentials: CredentialDecision
    /// The origin of the request's own URL, before URL filters.
    let requestOrigin: String
    var baseParameters = BaseParameterPlace.absent
    /// How base parameters are taken out again; `nil` if none are sent.
    var baseRemoval: BaseParameterRemoval?
}
