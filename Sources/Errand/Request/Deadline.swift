/// The time by which a send must have ended.
///
/// A class, because an optional large structure is copied by unspecialized code of the runtime.
final class Deadline: Sendable {
    /// The maximum duration of the send.
    let limit: Duration
    /// The time by which it must have ended, on the agent's timeline.
    let time: Duration
    let timeline: Timeline
    /// Whether it belongs to a batch or a chain, whose requests inherit it.
    private let isOfComposition: Bool

    /// - Parameters:
    ///   - limit: The maximum duration of the send, limited to a century.
    ///   - start: The time when it started, on the timeline.
    ///   - timeline: The agent's timeline.
    ///   - isOfComposition: Whether it belongs to a batch or a chain.
    init(_ limit: Duration, from start: Duration, on timeline: Timeline, isOfComposition: Bool = false) {
        self.limit = limit
        self.isOfComposition = isOfComposition
        time = start + limit.clamped
        self.timeline = timeline
    }

    /// Whether the time has passed.
    var isOver: Bool { timeline.now() >= time }

    /// The failure of a send that has not ended by then.
    var error: NetworkError {
        NetworkError(.deadlineExceeded(limit)).with(note: isOfComposition ? " (the batch's or chain's)" : nil)
    }

    /// Returns this deadline, or another one that is earlier.
    func earlier(_ other: Deadline?) -> Deadline { other.map { $0.time < time ? $0 : self } ?? self }

    /// - Throws: ``NetworkError`` if the time has passed.
    func check(at request: OutgoingRequest) throws {
        if isOver { throw error.with(request: request) }
    }

    /// Waits until the time has passed, then signals.
    ///
    /// - Returns: The wait, which its owner cancels when the send has ended.
    func watch(_ stop: StopSignal) -> DeadlineWatch {
        if let timer = timeline.deadlineTimer { return .shared(timer, timer.add(stop, at: time)) }
        return .own(
            Task { [timeline, time] in
                try await timeline.sleep(time)
                stop.stop(.deadline)
            }
        )
    }
}

/// The wait for one deadline.
enum DeadlineWatch: Sendable {
    case shared(DeadlineTimer, Int)
    /// On a clock for tests, which has as many sleeping tasks as sends run.
    case own(Task<Void, any Error>)

    func cancel() {
        switch self {
        case .shared(let timer, let id): timer.remove(id)
        case .own(let task): task.cancel()
        }
    }
}
