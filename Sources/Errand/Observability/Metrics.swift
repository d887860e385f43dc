/// The time that each stage of a send took.
///
/// A stage that did not run is `nil` or zero. Times are measured with the agent's clock, except ``Attempt/firstByte`` and
/// ``Attempt/transfer``, which the transport measures with `ContinuousClock`.
public struct Metrics: Sendable, Hashable {
    /// The times of one attempt.
    public struct Attempt: Sendable, Hashable {
        /// The time from the request, before redirects, to the final header section.
        ///
        /// `nil` if none arrived, or if the transport does not measure it.
        public var firstByte: Duration?
        /// The time from the final header section to the last byte, or `nil` if the body did not arrive completely.
        public var transfer: Duration?
        /// The time from the request, before redirects, to the last byte or the failure.
        public var total: Duration
        /// The origin that the attempt was for, such as `https://cdn.example`, before adapters and redirects.
        ///
        /// It shows which of several URLs of a CDN was used; see ``Service/cdnFallbacks``.
        public var origin: String

        /// Creates the times of an attempt; `nil` for what did not happen, and an empty origin if it is not known.
        public init(firstByte: Duration? = nil, transfer: Duration? = nil, total: Duration, origin: String = "") {
            self.firstByte = firstByte
            self.transfer = transfer
            self.total = total
            self.origin = origin
        }

        init(_ timing: ExchangeTiming, origin: String) {
            self.init(firstByte: timing.firstByte, transfer: timing.transfer, total: timing.total, origin: origin)
        }
    }

    /// The time from the start of the send until the model was made.
    public var total: Duration = .zero
    /// The time spent waiting for send gates and for permits of the throttle, over all attempts.
    ///
    /// A send that shares another's response includes the time that the other waited for its permits.
    public var queue: Duration = .zero
    /// The time spent waiting for a refresh of the credential.
    public var authentication: Duration = .zero
    /// The attempts, in order, including repetitions with a new credential.
    ///
    /// Empty for a cached response.
    public var attempts: [Attempt] = []
    /// The time spent looking up a cached response.
    public var cacheLookup: Duration = .zero
    /// The reason why no cached response was used, or `nil` if one was used or the cache was not read.
    public var cacheMiss: CacheMiss?
    /// The time spent in acceptance and the response filter of the last attempt.
    public var filter: Duration = .zero
    /// The time spent making the model.
    public var format: Duration = .zero
    /// Where the model was made, and why.
    public var formatting: Formatting = .background

    /// A place where a model is made.
    public enum Formatting: String, Sendable, Hashable {
        /// In the background: the request's types are `Sendable` and it does not ask for the caller.
        case background = "background (the request, its Model and its Formatter are Sendable)"
        /// On the caller, because the request asks for it.
        case callerByChoice = "caller (as its formattingContext says)"
        /// On the caller, because the request's types must not leave it.
        case callerByNeed = "caller (the request, its Model or its Formatter is not Sendable)"
    }

    /// Creates the metrics of a send that has not begun, all zero.
    public init() {}
}
