/// One send's subscription to an in-flight fetch: receives its events in order, to be read by the send's task.
final class InFlightSubscriber: Sendable {
    /// An event of an in-flight fetch for one send.
    indirect enum Event: Sendable {
        case event(AccessoryEvent, attempt: Int)
        case ended(Result<AcceptedResponse, any Error>)
        /// The fetch has ended, and its result must not be shared: the send fetches on its own.
        case notShared
    }

    private struct State {
        var events: [Event] = []
        var end: Event?
        var reader: Delivery<Event>?

        /// Removes the next event, together with the reader that waits for it.
        mutating func delivery() -> (Delivery<Event>, Event)? {
            guard let reader else { return nil }
            guard let event = events.isEmpty ? end : events.removeFirst() else { return nil }
            self.reader = nil
            return (reader, event)
        }
    }

    private let receivesEvents: Bool
    /// Ends its send.
    let stop: StopSignal
    private let state = Lock(State())

    init(receivesEvents: Bool, of stop: StopSignal) { (self.receivesEvents, self.stop) = (receivesEvents, stop) }

    /// Adds an event of the fetch.
    func notify(_ event: AccessoryEvent, attempt: Int) {
        guard receivesEvents else { return }
        change { state in if state.end == nil { state.events.append(.event(event, attempt: attempt)) } }
    }

    /// Ends the subscription with the result of the fetch; earlier events are still delivered.
    func end(with result: Result<AcceptedResponse, any Error>) {
        change { state in if state.end == nil { state.end = .ended(result) } }
    }

    /// Ends the subscription without a result for this send.
    func endWithoutResult() { change { state in if state.end == nil { state.end = .notShared } } }

    /// Discards further events and ends the subscription as cancelled.
    func cancel() {
        change { state in
            state.events = []
            state.end = .ended(.failure(CancellationError()))
        }
    }

    /// Waits for the next event; must not be called concurrently.
    func next() async -> Event {
        let reader = Delivery<Event>()
        change { $0.reader = reader }
        return await reader.value()
    }

    @inline(never)
    private func change(_ body: (inout State) -> Void) {
        let delivery = state.withLock { state in
            body(&state)
            return state.delivery()
        }
        if let (reader, event) = delivery { reader.deliver(event) }
    }
}
