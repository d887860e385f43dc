/// The second half of stage 5: minimum intervals and duplicates.
///
/// An in-flight fetch is one run of stages 6 to 8. One that is shared runs in a task for which its subscribers wait; it ends by
/// itself, when the last subscriber leaves, or when a newer send replaces it. Each subscriber receives its events in a task of
/// its own, until it is cancelled or its deadline has expired.
final class InFlightFetches: Sendable {
    private let timeline: Timeline
    private let table = Lock(InFlightTable())
    private let filters = FilterNumbers()

    init(timeline: Timeline) { self.timeline = timeline }

    /// The number of sends that wait for in-flight fetches.
    var waiterCount: Int { table.withLock { $0.fetches.values.reduce(0) { $0 + ($1.subscribers?.count ?? 1) } } }
    /// The number of in-flight fetches that need not end.
    var count: Int { table.withLock { $0.fetches.values.filter(\.isWanted).count } }

    /// Fetches, alone or in a shared fetch; `isPassing` is whether the send must not wait for permits.
    func run(
        _ prepared: PreparedRequest,
        isPassing: Bool,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        var policy = prepared.duplicatePolicy
        let interval = prepared.settings.minimumInterval.value
        guard policy != .allow || interval != nil,
            let key = DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: isPassing, filters: filters)
        else { return try await fetch(prepared) }
        if policy == .share, !key.isShareable { policy = .allow }
        let now = timeline.now()
        let subscriber = InFlightSubscriber(receivesEvents: !prepared.accessories.isEmpty, of: prepared.stop)
        let step = table.withLock { [policy] in
            $0.enter(
                key,
                policy,
                sendID: prepared.context.id,
                subscriber: subscriber,
                interval: interval,
                at: now
            )
        }
        switch step {
        case .alone: return try await fetch(prepared)
        case .reject(let reason):
            throw NetworkError(reason).with(request: prepared.outgoing)
        case .join(let id): return try await wait(in: subscriber, for: key, id, as: prepared, fetch)
        case .start(let own, let previous):
            if let previous {
                previous.stop.stop(.superseded)
                for subscriber in previous.subscribers?.values ?? [] { subscriber.stop.stop(.superseded) }
            }
            guard own.subscribers != nil else {
                defer { _ = table.withLock { $0.end(key, own.id) } }
                return try await fetch(prepared)
            }
            start(own, key, subscriber, isPassing: isPassing, prepared, fetch)
            return try await wait(in: subscriber, for: key, own.id, as: prepared, fetch)
        }
    }

    /// The number of the latest fetch.
    var lastID: Int { table.withLock(\.lastID) }

    /// Ends an earlier fetch that a send replaces, whose response was found in the cache.
    func end(replacedBy prepared: PreparedRequest, upTo id: Int, isPassing: Bool) {
        guard let key = DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: isPassing, filters: filters),
            let fetch = table.withLock({ $0.fetches[key] }), fetch.id <= id, fetch.subscribers == nil
        else { return }
        fetch.stop.stop(.superseded)
    }

    private func start(
        _ own: InFlightTable.Fetch,
        _ key: DuplicateKey,
        _ starter: InFlightSubscriber,
        isPassing: Bool,
        _ prepared: PreparedRequest,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) {
        let id = own.id
        // Events go to all subscribers, and no subscriber's deadline ends the fetch.
        let prepared = PreparedRequest(prepared) { parts in
            let relay = Relay(fetches: self, key: key, id: id)
            parts.accessories = AccessoryChain([relay], exchangesOf: parts.accessories)
            (parts.deadline, parts.isPassing, parts.stop) = (nil, isPassing, own.stop)
        }
        Task {
            let result: Result<AcceptedResponse, any Error>
            do {
                result = .success(try await prepared.stop.run { try await fetch(prepared) })
            } catch {
                result = .failure(error)
            }
            // If it may be another user's than the known one, only the starter gets it.
            let isShared = prepared.mayShare(result)
            for subscriber in table.withLock({ $0.end(key, id) }) {
                subscriber.end(with: isShared || subscriber === starter ? .ended(result) : .notShared)
            }
        }
    }

    private func wait(
        in subscriber: InFlightSubscriber,
        for key: DuplicateKey,
        _ id: Int,
        as prepared: PreparedRequest,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        try await withTaskCancellationHandler {
            while true {
                switch await subscriber.next() {
                case .ended(let result):
                    try prepared.stop.check()
                    var accepted = try result.get()
                    accepted.payload.decoding = prepared.decoding
                    return accepted
                case .notShared: return try await fetch(prepared)
                case .event(let event, let attempt):
                    var context = prepared.context
                    context.attempt = attempt
                    await prepared.accessories.notify(event, of: context)
                }
            }
        } onCancel: {
            let (waitsForEnd, stop) = table.withLock { $0.leave(key, id, subscriber) }
            if !waitsForEnd { subscriber.cancel() }
            stop?.stop()
        }
    }

    /// Passes the events of a fetch to all its subscribers.
    private struct Relay: SmallBodyObserver {
        let fetches: InFlightFetches
        let key: DuplicateKey
        let id: Int

        func request(_ context: RequestContext, did event: AccessoryEvent) {
            for subscriber in fetches.table.withLock({ $0.subscribers(key, id) }) {
                subscriber.notify(event, attempt: context.attempt)
            }
        }
    }
}

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

    /// Ends the subscription with the last event; earlier ones are still delivered.
    func end(with event: Event) { change { state in if state.end == nil { state.end = event } } }

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
