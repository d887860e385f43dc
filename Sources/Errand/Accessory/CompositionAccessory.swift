/// Observes batches and chains, beside the accessories of the requests in them.
///
/// Called synchronously in the background, never on the caller's actor. Every batch or chain that starts tells exactly
/// one `willStart`, `willStop` and `didStop`, in this order; `didFinish` comes between the first two.
public protocol CompositionAccessory: Sendable {
    /// Told what happened to a batch or chain.
    ///
    /// - Parameters:
    ///   - context: Which one it is, and how far.
    ///   - event: What happened.
    func composition(_ context: CompositionContext, did event: CompositionEvent)
}

/// What happens to a batch or chain.
public enum CompositionEvent: Sendable {
    /// First, before any request of it starts.
    case willStart
    /// A request of it has its model, or failed and is ignored.
    case didFinish(CompositionChild)
    /// The outcome is known; delivery follows. ``CompositionProgress/failed`` says which request failed.
    case willStop(CompositionOutcome)
    /// Last: for callbacks after the completion, for async callers right before the return.
    case didStop(CompositionOutcome)
}

/// How a batch or chain ended.
public enum CompositionOutcome: Sendable {
    /// The caller gets the models.
    case success
    /// It failed with this error, the one that the caller gets.
    case failure(any Error)
    /// It was cancelled; the caller gets `CancellationError`.
    case cancelled

    init(_ error: (any Error)?) {
        switch error {
        case .none: self = .success
        case .some(is CancellationError): self = .cancelled
        case .some(let error): self = .failure(error)
        }
    }
}

/// Which batch or chain something belongs to, and how far it is.
public struct CompositionContext: Sendable, Identifiable {
    /// A number, unique among the sends and compositions of an agent.
    public let id: Int
    /// `BatchRequest` or `ChainRequest`.
    public let typeName: String
    /// The composition's own mark; empty when it has none.
    public let tag: String
    /// How far it is.
    public internal(set) var progress: CompositionProgress
}

/// A request of a batch or chain.
public struct CompositionChild: Sendable, Hashable {
    /// Its place, from 0.
    public let index: Int
    /// The name of its type, such as `GetUser`; empty for a step that a closure threw instead of making.
    public let typeName: String
}

/// How far a batch or chain is.
public struct CompositionProgress: Sendable, Hashable {
    /// The requests that have their model, or whose failure is ignored, in the order in which they ended.
    public internal(set) var finished: [CompositionChild] = []
    /// How many requests there are; `nil` for a chain that decides as it goes.
    public let total: Int?
    /// The request that failed first and ended the whole; `nil` while none has.
    public internal(set) var failed: CompositionChild?

    init(total: Int?) { self.total = total }

    /// From 0 to 1; 0 while the total is not known, and 1 for a batch without requests.
    public var fractionCompleted: Double {
        guard let total else { return 0 }
        return total > 0 ? Double(finished.count) / Double(total) : 1
    }
}
