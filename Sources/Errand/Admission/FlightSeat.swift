/// Where one send waits for a flight: what happens is told here, in order, and read by the task of the send.
final class FlightSeat: Sendable {
    /// What a send hears of its flight.
    enum News: Sendable {
        case event(AccessoryEvent, attempt: Int)
        case ended(Result<Answer, any Error>)
        /// A newer send took the place of this one.
        case superseded
        /// The flight is over, and what it brought is for nobody else: the send fetches on its own.
        case notShared
    }

    private struct State {
        var events: [News] = []
        var end: News?
        var reader: Delivery<News>?

        /// The next one to hear, and the one who waits for it.
        mutating func delivery() -> (Delivery<News>, News)? {
            guard let reader else { return nil }
            guard let news = events.isEmpty ? end : events.removeFirst() else { return nil }
            self.reader = nil
            return (reader, news)
        }
    }

    private let hearsEvents: Bool
    private let state = Lock(State())

    init(hearsEvents: Bool) { self.hearsEvents = hearsEvents }

    /// Something happened to the flight.
    func tell(_ event: AccessoryEvent, attempt: Int) {
        guard hearsEvents else { return }
        change { state in if state.end == nil { state.events.append(.event(event, attempt: attempt)) } }
    }

    /// The flight is over; what came before is still heard.
    func end(with result: Result<Answer, any Error>) {
        change { state in if state.end == nil { state.end = .ended(result) } }
    }

    /// The flight is over without anything for this send.
    func endWithoutResult() { change { state in if state.end == nil { state.end = .notShared } } }

    /// The send gets no more events, only that it was cancelled.
    func cancel() { end(at: .ended(.failure(CancellationError()))) }

    /// The send gets no more events, only that a newer one took its place.
    func supersede() { end(at: .superseded) }

    private func end(at news: News) {
        change { state in
            state.events = []
            state.end = news
        }
    }

    /// Waits for the next one to hear; called by one task, one after the other.
    func next() async -> News {
        let reader = Delivery<News>()
        change { $0.reader = reader }
        return await reader.value()
    }

    private func change(_ body: (inout State) -> Void) {
        let delivery = state.withLock { state in
            body(&state)
            return state.delivery()
        }
        if let (reader, news) = delivery { reader.deliver(news) }
    }
}
