internal import Foundation
internal import Synchronization

/// The `Sendable` snapshot of a request that the pipeline runs on; it does not refer to the request's own types.
///
/// A class, because it is passed around often and is large.
@dynamicMemberLookup
final class PreparedRequest: Sendable, ReceivedSend {
    /// The parts of the snapshot; some of them differ when the same request is sent again.
    struct Parts: Sendable {
        var context: RequestContext
        /// The request before adapters; what every send reads is read here, because ``outgoing`` is a copy.
        var built: BuiltRequest
        /// The same request below the further URLs of the CDN, in order.
        var fallbacks: [BuiltRequest]
        /// The declarations of config, service and request.
        let settings: Settings
        let adapters: [any RequestAdapter]
        let interceptors: [any Interceptor]
        /// The interceptors of each exchange, which are among ``interceptors``.
        let exchangeInterceptors: [ExchangeHook]
        let sendInterceptors: [any SendInterceptor]
        /// The session whose credential the request sends, or `nil` for none.
        var pinnedCredential: PinnedCredential?
        /// A digest of the identity of the transport, or an empty text if it has none.
        let transportIdentity: String
        var accessories: AccessoryChain
        /// How the cache is used, or `nil` if it is not.
        let cacheUse: CacheUse?
        /// The credential scopes of adapters and interceptors when the request was prepared.
        let scopes: [String?]
        /// Whether another user than the prepared one was seen; `nil` if nothing is shared or stored.
        var userCheck: UserCheck?
        /// Whether its attempts need no permit, because sends that hold one wait for it.
        var isPassing = false
        /// The type of the request.
        let typeID: ObjectIdentifier
        /// The gates that decide whether it may be sent.
        let sendGates: [any SendGate]
        /// The time that its attempts waited for permits, or `nil` if nothing is throttled.
        let queued: Lock<Duration>?
        /// The content that the JSON guard rejects at stage 7, because the following stages decode the body without a guard of
        /// their own.
        let guarding: JSONGuard.Strictness
        /// Whether the formatter is the user's own and decodes a payload that was not guarded.
        let guardsPayload: Bool
        /// The request itself, for a transport that reads it.
        let sent: SentRequest?
        /// Takes the body of an acceptable response in place of memory, or `nil`.
        let receiver: (any BodyReceiver)?
        /// The deadline of the send, or `nil` for none.
        var deadline: Deadline?
        /// Ends the send from outside its task.
        var stop: StopSignal
    }

    private let parts: Parts
    /// Whether its gates have admitted it, which they decide once.
    let isAdmitted = Atomic(false)
    /// Whether a body that can be read only once was passed to the transport.
    let hasSentSingleUseBody = Atomic(false)

    subscript<Part>(dynamicMember part: KeyPath<Parts, Part>) -> Part {
        @inline(__always) get { parts[keyPath: part] }
    }

    var context: RequestContext { parts.context }
    var built: BuiltRequest { parts.built }
    var settings: Settings { parts.settings }
    var receiver: (any BodyReceiver)? { parts.receiver }
    var accessories: AccessoryChain { parts.accessories }

    init(_ parts: Parts) { self.parts = parts }

    /// Creates the same request for another send of it, or below another URL.
    ///
    /// Another user that is seen during this send also matters to the send that waits for it.
    init(_ other: PreparedRequest, changing change: (inout Parts) -> Void) {
        var parts = other.parts
        change(&parts)
        self.parts = parts
    }

    /// Creates the same request as a separate send, without accessories, with a new number and a new deadline.
    convenience init(inBackground other: PreparedRequest, id: Int, timeline: Timeline) {
        self.init(other) { parts in
            parts.context.id = id
            parts.accessories = AccessoryChain([], exchangesOf: parts.accessories)
            parts.deadline = parts.deadline.map { Deadline($0.limit, from: timeline.now(), on: timeline) }
            parts.userCheck = parts.userCheck.map { _ in UserCheck() }
            parts.pinnedCredential = parts.pinnedCredential.map(PinnedCredential.init(inBackground:))
            (parts.isPassing, parts.stop) = (false, StopSignal())
        }
    }

    /// Creates the same request of the same send, below another URL of the CDN.
    convenience init(_ other: PreparedRequest, at fallback: BuiltRequest) {
        self.init(other) { parts in
            (parts.built, parts.fallbacks) = (fallback, [])
            (parts.context.url, parts.context.declared) = (fallback.outgoing.url, fallback.outgoing.notes.declared)
            parts.context.allowsCredentials = fallback.credentials.areSent
        }
    }

    /// The request before adapters.
    var outgoing: OutgoingRequest { built.outgoing }
    /// Whether credentials of the config and the service are sent.
    var credentials: CredentialDecision { built.credentials }
    /// The origin of the request's own URL, before URL filters.
    var requestOrigin: Origin { built.requestOrigin }

    /// The origins of its URL and of the CDN's URLs, before and after URL filters.
    var ownOrigins: [Origin] { ([built] + self.fallbacks).flatMap { [$0.requestOrigin, $0.credentials.origin] } }

    var acceptance: Acceptance { settings.acceptance.value }
    var priority: RequestPriority { settings.request.priority }
    var cacheIdentity: CacheIdentity { settings.request.cacheIdentity }
    /// The request's policy, but never ``DuplicatePolicy/share`` for a body that is not in memory.
    var duplicatePolicy: DuplicatePolicy {
        let own = settings.request.duplicatePolicy
        return own == .share && receiver != nil ? .allow : own
    }
    /// The request's own duplicate key, or an empty string if it has none.
    var duplicateKey: String { settings.request.duplicateKey }

    /// The origin of the URL: scheme, host and port.
    var origin: Origin { credentials.origin }

    /// The names of values that are redacted, and removed from requests to another origin.
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
    var filter: any ResponseFilter { settings.filter.value }

    /// The maximum size of the body; the limits for bodies in memory do not apply to a receiver.
    var maximumBodySize: Int {
        let limit = settings.maximumBodySize
        return receiver != nil && limit.source != .request ? .max : limit.value ?? .max
    }

    /// The limits of one exchange.
    var transportOptions: TransportOptions { transportOptions(reportingProgress: !accessories.isEmpty) }

    /// Returns the limits of one exchange, whose progress is reported to accessories or not.
    @inline(never)
    func transportOptions(reportingProgress: Bool) -> TransportOptions {
        var options = TransportOptions(
            idleTimeout: settings.timeout.value ?? .seconds(60),
            readAhead: receiver != nil ? 0 : reportingProgress ? Int(ProgressSteps.smallest) : .max,
            maximumBodySize: maximumBodySize,
            maximumHeaderSize: settings.maximumHeaderSize.value ?? .max,
            maximumExpansion: settings.maximumExpansion.value ?? .max,
            allowsCellularAccess: settings.request.allowsCellularAccess
        )
        options.isStream = receiver?.isStream ?? false
        options.request = self.sent
        return options
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
