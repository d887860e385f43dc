/// How long each stage of a send took.
///
/// A stage that did not run has `nil` or zero. Times are measured with the agent's clock; ``Attempt/firstByte`` and
/// ``Attempt/transfer`` are measured by the transport, with `ContinuousClock`.
public struct Metrics: Sendable, Hashable {
    /// One time on the wire.
    public struct Attempt: Sendable, Hashable {
        /// From the request, before redirects, to the final head; `nil` when none came, or the transport cannot
        /// tell.
        public var firstByte: Duration?
        /// From the final head to the last byte; `nil` when the body did not come whole.
        public var transfer: Duration?
        /// From the request, before redirects, to the last byte or the failure.
        public var total: Duration

        /// Takes the times of an attempt; `nil` for what did not happen.
        public init(firstByte: Duration? = nil, transfer: Duration? = nil, total: Duration) {
            self.firstByte = firstByte
            self.transfer = transfer
            self.total = total
        }

        init(_ timing: ExchangeTiming) {
            self.init(firstByte: timing.firstByte, transfer: timing.transfer, total: timing.total)
        }
    }

    /// From the start of the send until the model was made.
    public var total: Duration = .zero
    /// Waiting for send gates and for turns on the wire, of all attempts; of a send that shares another's answer, what
    /// that one waited for its turns.
    public var queue: Duration = .zero
    /// Waiting for a login's refresh.
    public var login: Duration = .zero
    /// The attempts, in order, repetitions under a new credential included; empty for a stored answer.
    public var attempts: [Attempt] = []
    /// Looking for a stored answer.
    public var cacheLookup: Duration = .zero
    /// Why no stored answer was used; `nil` when one was, or none was wanted.
    public var cacheMiss: CacheMiss?
    /// Acceptance and response filter of the last attempt.
    public var filter: Duration = .zero
    /// Making the model.
    public var format: Duration = .zero
    /// Where the model was made, and why there.
    public var formatting: Formatting = .background

    /// Where a model was made.
    public enum Formatting: String, Sendable, Hashable {
        /// Off the caller: the request's types are Sendable and it asks for nothing else.
        case background = "background (the request, its Model and its Formatter are Sendable)"
        /// On the caller, as the request asks.
        case callerByChoice = "caller (as its formattingContext says)"
        /// On the caller, because the request's types must not leave it.
        case callerByNeed = "caller (the request, its Model or its Formatter is not Sendable)"
    }

    /// Metrics of a send that has not begun: all zero.
    public init() {}
}
