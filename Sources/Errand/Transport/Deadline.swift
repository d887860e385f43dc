/// The time by which a whole send must have ended, whatever it is doing then.
struct Deadline: Sendable {
    /// How long the send may take.
    let limit: Duration
    /// When it must have ended, on the agent's timeline.
    let time: Duration
    let timeline: Timeline

    /// - Parameters:
    ///   - limit: How long the send may take; of a negative one or one beyond a century only the bound counts.
    ///   - start: When it started, on the timeline.
    ///   - timeline: The agent's.
    init(_ limit: Duration, from start: Duration, on timeline: Timeline) {
        self.limit = limit
        time = start + limit.clamped
        self.timeline = timeline
    }

    /// Whether the time has passed.
    var isOver: Bool { timeline.now() >= time }

    /// The failure of a send that has not ended by then.
    var error: NetworkError { NetworkError(.deadlineExceeded(limit)) }

    /// This deadline, or another one that comes first.
    func earlier(_ other: Deadline?) -> Deadline {
        guard let other, other.time < time else { return self }
        return other
    }

    /// - Throws: ``NetworkError`` if the time has passed.
    func check(at request: OutgoingRequest) throws {
        if isOver { throw error.placed(at: request.url, method: request.method) }
    }

    /// Waits until the time has passed, then signals.
    ///
    /// - Returns: The task that waits. Its owner cancels it when the send has ended.
    func watch(_ stop: StopSignal) -> Task<Void, any Error> {
        Task { [timeline, time] in
            try await timeline.sleep(time)
            stop.stop(.deadline)
        }
    }
}
