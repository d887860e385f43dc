/// A type that observes batches and chains, in addition to the accessories of their requests.
///
/// It is called synchronously in the background, never on the caller's actor. Every batch or chain that starts produces
/// exactly one `willStart`, `willStop` and `didStop`, in this order; `didFinish` comes between the first two.
public protocol CompositionAccessory: Sendable {
    /// Receives an event of a batch or chain.
    ///
    /// - Parameters:
    ///   - context: The batch or chain, and its progress.
    ///   - event: The event.
    func composition(_ context: CompositionContext, did event: CompositionEvent)
}

/// An event of a batch or chain.
@nonexhaustive
public enum CompositionEvent: Sendable {
    /// It starts. This is the first event, before any of its requests starts.
    case willStart
    /// One of its requests has its model, or failed and is ignored.
    case didFinish(CompositionChild)
    /// The outcome is known; delivery follows. ``CompositionProgress/failed`` is the request that failed.
    case willStop(CompositionOutcome)
    /// It has ended. This is the last event: after a callback's completion, or right before an async caller returns.
    case didStop(CompositionOutcome)
}

/// The outcome of a batch or chain.
public enum CompositionOutcome: Sendable {
    /// The caller receives the models.
    case success
    /// It failed with this error, which the caller receives.
    case failure(any Error)
    /// It was cancelled; the caller receives `CancellationError`.
    case cancelled

    init(_ error: (any Error)?) {
        switch error {
        case .none: self = .success
        case .some(is CancellationError): self = .cancelled
        case .some(let error): self = .failure(error)
        }
    }
}

/// A batch or chain, and its progress.
public struct CompositionContext: Sendable, Identifiable {
    /// A number that is unique among the sends and compositions of an agent.
    public let id: Int
    /// `BatchRequest`, `ArrayBatchRequest` or `ChainRequest`.
    public let typeName: String
    /// The tag of the batch or chain; empty if it has none.
    public let tag: String
    /// The progress.
    public internal(set) var progress: CompositionProgress
}

/// A request of a batch or chain.
public struct CompositionChild: Sendable, Hashable {
    /// Its index, from 0.
    public let index: Int
    /// The name of its type, such as `GetUser`; empty if the closure of a chain that was created with `startingWith:` threw
    /// instead of making a request.
    public let typeName: String
}

/// The progress of a batch or chain.
public struct CompositionProgress: Sendable, Hashable {
    /// The requests that have their model, or whose failure is ignored, in the order in which they ended.
    public internal(set) var finished: [CompositionChild] = []
    /// The number of requests, or `nil` for a chain that determines its steps as it goes.
    public let total: Int?
    /// The first request that failed and ended the batch or chain, or `nil` if none has.
    public internal(set) var failed: CompositionChild?

    init(total: Int?) { self.total = total }

    /// A change of the progress, so that recording it copies no list of children.
    enum Change: Sendable {
        case started(total: Int?)
        case finished(CompositionChild)
        case failed(CompositionChild)
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .started: break
        case .finished(let child): finished.append(child)
        case .failed(let child): failed = child
        }
    }

    /// The finished fraction, from 0 to 1; 0 while the total is not known, and 1 for a batch without requests.
    public var fractionCompleted: Double {
        guard let total else { return 0 }
        return total > 0 ? Double(finished.count) / Double(total) : 1
    }
}
