/// Observes sends: loading indicators, logs, metrics.
///
/// Called synchronously in the background, never on the caller's actor, and never under a lock of the library. Every
/// send tells exactly one `willStart`, `willStop` and `didStop`, in this order, on every path.
public protocol Accessory: Sendable {
    /// Told what happened to a send.
    ///
    /// - Parameters:
    ///   - context: Which send it is; its ``RequestContext/url`` is `nil` while none is formed.
    ///   - event: What happened.
    func request(_ context: RequestContext, did event: AccessoryEvent)
}

/// What happens to a send.
public enum AccessoryEvent: Sendable {
    /// First, before anything else.
    case willStart
    /// Bytes of a body of more than 64 KiB went out or came in; told after each hundredth of it, 64 KiB at least, and
    /// at its end. It begins anew with each attempt.
    ///
    /// What went out was handed to the system; whether the server has it only the answer tells.
    case didProgress(TransferProgress)
    /// An attempt failed and another one follows after a pause.
    case willRetry(after: Duration, because: any Error)
    /// An attempt failed with this error and is not retried, although the policy allows it, because the
    /// ``RetryBudget`` of the host is exhausted.
    case didExhaustRetryBudget(because: any Error)
    /// The send waits until its login is refreshed: the server refused it with this error, or it ends soon (`nil`).
    case willRefreshLogin(because: (any Error)?)
    /// A redirect is followed.
    case didRedirect(Redirect)
    /// The send waited for its turn.
    case didWait(Duration)
    /// The outcome is known; delivery follows.
    case willStop(Outcome)
    /// Last: for callbacks after the completion, for async callers right before the return.
    case didStop(Outcome)
}

/// How a send ended.
public enum Outcome: Sendable {
    /// The model was made.
    case success(statusCode: Int, source: Source, metrics: Metrics)
    /// It failed with this error, the one that the caller gets.
    case failure(any Error)
    /// It was cancelled; the caller gets `CancellationError`.
    case cancelled
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Hashable {
    /// The way that the bytes go.
    public enum Direction: Sendable, Hashable {
        /// The request's body, to the server.
        case upload
        /// The answer's body, from the server.
        case download
    }

    /// The way that the bytes go.
    public var direction: Direction
    /// Bytes so far.
    public var completed: Int64
    /// Bytes in all, or `nil` when nobody knows.
    public var total: Int64?

    /// Takes a state of a transfer; a `total` of `nil` means that nobody knows it.
    public init(direction: Direction, completed: Int64, total: Int64? = nil) {
        self.direction = direction
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1; 0 while the total is not known.
    public var fractionCompleted: Double {
        guard let total, total > 0 else { return 0 }
        return min(1, Double(completed) / Double(total))
    }
}
