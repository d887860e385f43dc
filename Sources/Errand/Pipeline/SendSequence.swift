/// Sends that follow one another, such as those of a poll, of pages, of a chain or of a stream of events, or many of which a
/// limited number runs at once.
///
/// `cancelAll` ends it by the context of the last one if none of them is running, and finds no context of what has not begun.
final class SendSequence: Sendable {
    /// Which sends `cancelAll` ends the sequence with, besides ending it between two of them.
    enum End: Sendable {
        /// Any: the reader of the sequence may already be past a send that has not ended yet.
        case withItsSend
        /// None, because it may continue after a send that was cancelled.
        case onlyBetween
        /// All, but not some: each has a result of its own, or none would follow, and what has not begun has no context by
        /// which it could be chosen.
        case withAllSends
    }

    let end: End
    /// The sequence that this one is a part of.
    let outer: SendSequence?
    /// Ends what waits or would begin; returns at once.
    let stop: @Sendable () -> Void
    private let signal: StopSignal
    private let sends: RunningSends

    /// Creates the sequence of a reader, which requests one send after the other.
    init(_ sends: RunningSends) {
        let signal = StopSignal()
        (self.sends, self.signal, outer, end) = (sends, signal, nil, .withItsSend)
        stop = { signal.stop() }
    }

    /// Creates the sequence of a batch, a chain, or many requests.
    ///
    /// - Parameters:
    ///   - sends: The running sends of the agent.
    ///   - outer: The sequence that it is a part of.
    ///   - end: Which sends it ends with.
    ///   - stop: Ends it; returns at once.
    init(_ sends: RunningSends, within outer: SendSequence?, end: End, stop: @escaping @Sendable () -> Void) {
        let signal = StopSignal()
        (self.sends, self.signal, self.outer, self.end) = (sends, signal, outer, end)
        self.stop = {
            stop()
            signal.stop()
        }
    }

    deinit { sends.forget(ObjectIdentifier(self)) }

    /// Whether the sequence was ended.
    var mustEnd: Bool { signal.mustEnd }

    /// - Throws: `CancellationError` if the sequence was ended, or its task cancelled.
    func check() throws { try signal.check() }

    /// Waits until a time on a timeline.
    ///
    /// - Throws: `CancellationError` if the sequence was ended, or its task cancelled.
    func wait(until time: Duration, on timeline: Timeline) async throws {
        try await signal.run(endsWhenCancelled: true) { try await timeline.sleep(time) }
    }
}
