public import Foundation

/// The time that each stage of a send took.
///
/// A stage that did not run is `nil` or zero. Times are measured with the agent's clock, except ``Attempt/firstByte`` and
/// ``Attempt/transfer``, which the transport measures with `ContinuousClock`.
public struct Metrics: Sendable, Hashable {
    /// The times of one attempt.
    public struct Attempt: Sendable, Hashable {
        /// The time when the attempt began, by the system's clock; `nil` if no response arrived.
        public var start: Date?
        /// The time from the request, before redirects, to the final header section.
        ///
        /// `nil` if none arrived, or if the transport does not measure it.
        public var firstByte: Duration?
        /// The time from the final header section to the last byte, or `nil` if the body did not arrive completely.
        public var transfer: Duration?
        /// The time from the request, before redirects, to the last byte or the failure.
        public var total: Duration
        /// The origin that the attempt was for, such as `https://cdn.example`, before adapters and redirects.
        public var origin: String
        /// The URL that the attempt was for, before adapters and redirects, or `nil` if it is not known.
        ///
        /// It shows which of several URLs of a CDN was used; see ``InheritedSettings/cdnFallbacks``. Its query may contain secrets.
        public var url: URL?
        /// The path as the request declares it.
        var path: DeclaredPath?
        /// The status code of the response, such as 304 if the server validated a stored one; `nil` if none arrived.
        public var statusCode: Int?
        /// The connection of the last exchange, after redirects; `nil` if the transport does not know it, as
        /// ``URLSessionTransport``, or if there was no response.
        public var connection: ConnectionMetrics? {
            get { sharedConnection?.value }
            set { sharedConnection = newValue.map(Shared.init) }
        }

        private var sharedConnection: Shared<ConnectionMetrics>?

        /// Creates the times of an attempt; `nil` for what did not happen, and an empty origin if it is not known.
        public init(
            start: Date? = nil,
            firstByte: Duration? = nil,
            transfer: Duration? = nil,
            total: Duration,
            origin: String = "",
            url: URL? = nil,
            statusCode: Int? = nil,
            connection: ConnectionMetrics? = nil
        ) {
            self.start = start
            self.firstByte = firstByte
            self.transfer = transfer
            self.total = total
            self.origin = origin
            self.url = url
            self.statusCode = statusCode
            self.connection = connection
        }
    }

    /// The time when the send started, by the system's clock; `nil` until the model was made.
    public var start: Date?
    /// The time from the start of the send until the model was made.
    public var total: Duration = .zero
    /// The time spent waiting for send gates and for permits of the throttle, over all attempts.
    ///
    /// Gates that are called before the cache is read, by ``SendGate/guardsCache``, are not included.
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
        /// In the background: the request's types are `Sendable`, and its ``FormattingContext`` is the default.
        case background = "background (the request, its Model and its Formatter are Sendable)"
        /// On the caller, because the request declares ``FormattingContext/caller``.
        case callerByChoice = "caller (by its formattingContext)"
        /// On the caller, because the request's types must not leave it.
        case callerByNeed = "caller (the request or its model is isolated to an actor, or not Sendable)"
    }

    /// Creates the metrics of a send that has not begun, all zero.
    public init() {}
}

extension Metrics: CustomStringConvertible {
    /// The times of the stages that ran, on one line.
    public var description: String {
        let stages = [
            ("cache lookup", cacheLookup), ("queue", queue), ("authentication", authentication), ("filter", filter),
            ("format", format),
        ]
        let times = stages.filter { $0.1 > .zero }.map { "\($0.0) \($0.1.words)" }
        return (["total \(total.words)"] + attempts.map(\.description) + times).joined(separator: ", ")
    }

    /// The number of attempts and the status of each, with their URLs if they differ; empty for one attempt or none.
    var attemptWords: String {
        guard attempts.count > 1 else { return "" }
        let isMoved = Set(attempts.map(\.url)).count > 1
        let all = attempts.map { $0.outcome + (isMoved ? $0.place : "") }
        return " after \(attempts.count) attempts: \(all.joined(separator: ", "))"
    }
}
