/// The sends of one stream of events: `cancelAll` ends them as one, also while there is none between two connections.
final class ReconnectingSends: Sendable {
    private let stop = StopSignal()
    private let sends: RunningSends
    private let firstID = Lock<Int?>(nil)

    init(_ sends: RunningSends) { self.sends = sends }

    deinit { if let id = firstID.withLock({ $0 }) { sends.forget(reconnecting: id) } }

    /// Whether there was a send.
    var hasBegun: Bool { firstID.withLock { $0 != nil } }

    /// Records a send before it begins.
    func note(_ context: RequestContext) {
        let id = firstID.withLock { id in
            let first = id ?? context.id
            id = first
            return first
        }
        sends.note(reconnecting: context, stop, firstID: id)
    }

    /// - Throws: `CancellationError` if the stream was ended.
    func check() throws { try stop.check() }

    /// Waits until a time on a timeline.
    ///
    /// - Throws: `CancellationError` if the stream was ended.
    func wait(until time: Duration, on timeline: Timeline) async throws {
        try await stop.run(endsWhenCancelled: true) { try await timeline.sleep(time) }
    }
}
