/// When a whole send must be over, whatever it is doing then.
struct Deadline: Sendable {
    /// How long the send may take.
    let limit: Duration
    /// When it must be over, on the agent's timeline.
    let time: Duration
    let timeline: Timeline

    /// Whether the time is up.
    var isOver: Bool { timeline.now() >= time }

    /// This deadline, or another one that comes first.
    func earlier(_ other: Deadline?) -> Deadline {
        guard let other, other.time < time else { return self }
        return other
    }

    /// - Throws: ``NetworkError`` when the time is up.
    func check(at request: OutgoingRequest) throws {
        guard isOver else { return }
        throw NetworkError(.deadlineExceeded(limit)).placed(at: request.url, method: request.method)
    }

    /// Waits until the time is up.
    func sleep() async throws { try await timeline.sleep(time) }
}
