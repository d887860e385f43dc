/// The `Sendable` snapshot of a request, on which the pipeline runs: nothing in it refers to the request's own types.
///
/// A class, for it goes through many hands and is large.
final class PreparedRequest: Sendable {
    let context: RequestContext
    /// What is sent, before adapters.
    let outgoing: OutgoingRequest
    /// Where to: scheme, host and port.
    let origin: String
    let choices: Choices
    /// What must not be told to anyone, nor leave for another origin.
    let secrets: Secrets
    let acceptance: Acceptance
    let adapters: [any RequestAdapter]
    let interceptors: [any Interceptor]
    let sendInterceptors: [any SendInterceptor]
    /// Whose login the request shows; `nil` when none.
    let login: PinnedLogin?
    let accessories: AccessoryChain
    let decoder: any DataDecoder
    let priority: Priority
    let allowsCellularAccess: Bool
    let cacheIdentity: CacheIdentity
    let duplicatePolicy: DuplicatePolicy
    /// What the JSON guard refuses at stage 7, because what follows decodes the body and does not guard itself.
    let guarding: JSONGuard.Strictness
    /// When the send must be over; `nil` is never.
    let deadline: Deadline?
    /// Ends the send from outside its task.
    let stop: StopSignal

    /// Takes what the request, its service and the config say together.
    init(
        _ request: some Request,
        of send: Send,
        as context: RequestContext,
        outgoing: OutgoingRequest,
        origin: String,
        choices: Choices,
        login: PinnedLogin?
    ) {
        let config = send.config
        let service = send.service
        self.context = context
        self.outgoing = outgoing
        self.origin = origin
        self.choices = choices
        self.login = login
        secrets = config.value.secrets
        acceptance = request.acceptance
        adapters = config.value.adapters + service.adapters
        interceptors = config.value.interceptors + service.interceptors
        sendInterceptors = config.value.sendInterceptors + service.sendInterceptors
        accessories = send.accessories
        decoder = service.decoder ?? config.value.decoder
        priority = request.priority
        allowsCellularAccess = request.allowsCellularAccess
        cacheIdentity = request.cacheIdentity
        duplicatePolicy = request.duplicatePolicy
        guarding = JSONGuard.Strictness(choices.filter.value, before: request.formatter)
        deadline = send.deadline(choices.deadline.value)
        stop = send.stop
    }

    /// The filter that opens the answer.
    var filter: any ResponseFilter { choices.filter.value }


    /// The limits of one exchange.
    var transportOptions: TransportOptions {
        TransportOptions(
            idleTimeout: choices.timeout.value ?? .seconds(60),
            readAhead: .max,
            maximumBodySize: choices.maximumBodySize.value ?? .max,
            maximumHeadSize: choices.maximumHeadSize.value ?? .max,
            maximumExpansion: choices.maximumExpansion.value ?? .max
        )
    }
}
