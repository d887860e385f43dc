/// Sends that follow one another, such as those of a poll, of pages, of a chain or of a stream of events.
///
/// None of them is running in between. `cancelAll` then ends the sequence by the context of the last one.
final class SendSequence: Sendable {
    /// Which sends `cancelAll` ends the sequence with, besides ending it between two of them.
    enum End: Sendable {
        /// Any: the reader of the sequence may already be past a send that has not ended yet.
        case withItsSend
        /// None, because it may continue after a send that was cancelled.
        case onlyBetween
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

    /// Creates the sequence of a chain.
    ///
    /// - Parameters:
    ///   - sends: The running sends of the agent.
    ///   - outer: The sequence that the chain is a part of.
    ///   - stop: Ends the chain; returns at once.
    init(_ sends: RunningSends, within outer: SendSequence?, stop: @escaping @Sendable () -> Void) {
        let signal = StopSignal()
        (self.sends, self.signal, self.outer, end) = (sends, signal, outer, .onlyBetween)
        self.stop = {
            signal.stop()
            stop()
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
