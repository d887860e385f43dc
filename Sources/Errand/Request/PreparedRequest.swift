/// The `Sendable` snapshot of a request, on which the pipeline runs: nothing in it refers to the request's own types.
struct PreparedRequest: Sendable {
    var context: RequestContext
    /// What is sent, before adapters.
    var outgoing: OutgoingRequest
    let choices: Choices
    /// What must not be told to anyone, nor leave for another origin.
    let secrets: Secrets
    let acceptance: Acceptance
    let adapters: [any RequestAdapter]
    let interceptors: [any Interceptor]
    let sendInterceptors: [any SendInterceptor]
    /// Whose login the request shows; `nil` when none.
    let login: PinnedLogin?
    var accessories: AccessoryChain
    let decoder: any DataDecoder
    let priority: Priority
    let allowsCellularAccess: Bool
    let cacheIdentity: CacheIdentity
    /// How the cache is used; `nil` when it is not.
    let cacheUse: CacheUse?
    let duplicatePolicy: DuplicatePolicy
    /// What the JSON guard refuses at stage 7, because what follows decodes the body and does not guard itself.
    let guarding: JSONGuard.Strictness

    /// The filter that opens the answer.
    var filter: any ResponseFilter { choices.filter.value }

    /// When the send must be over; `nil` is never.
    var deadline: Deadline?

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
