internal import Foundation

/// Stage 4 for one attempt: the turns of an agent, for which attempts wait as their ``Throttle`` says.
///
/// A turn is taken before adapters run, so that signatures and credentials are fresh, and given back when the answer
/// is whole. What an adapter, an interceptor or a login's refresh sends through the same agent goes at once and is
/// counted: it would otherwise wait for those who wait for it.
final class Turns: Sendable {
    /// No server can hold a host back for longer.
    static let longestPause = Duration.seconds(60)

    private struct Timer {
        let id: Int
        let time: Duration
        let task: Task<Void, Never>
    }

    private struct State {
        var queue = TurnQueue()
        var waiters: [Int: Delivery<Bool>] = [:]
        var timer: Timer?
        private var lastID = 0

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }
    }

    private let timeline: Timeline
    private let state = Lock(State())

    init(timeline: Timeline) { self.timeline = timeline }

    /// The present, to compare a `Retry-After` date with if a response has no `Date`.
    var date: Date { timeline.date() }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.queue.waitingCount } }
    /// How many are on the wire.
    var runningCount: Int { state.withLock { $0.queue.running } }

    /// Whether what the current task sends must not wait, because others wait for it.
    var isPassedBy: Bool { RefreshScope.isActive || WireTurn.current?.belongs(to: self) == true }

    /// Runs an attempt in its turn, and at once where nothing is throttled.
    ///
    /// - Throws: What the attempt throws, or `CancellationError` while it waits.
    func run(
        _ prepared: PreparedRequest,
        attempt: Int,
        _ work: () async throws -> RawResponse
    ) async throws -> RawResponse {
        guard prepared.choices.throttle.value.isLimited else { return try await work() }
        let turn = WireTurn(turns: self, of: prepared, attempt: attempt, waits: !(prepared.isPassing || isPassedBy))
        try await turn.take(at: prepared.outgoing.url.origin)
        // Code of the user's own that is left behind must not keep the permit.
        let id = prepared.stop.onAbandon { turn.release() }
        defer {
            prepared.stop.removeAbandonHandler(id)
            turn.finish()
        }
        return try await WireTurn.$current.withValue(turn) { try await work() }
    }

    /// Waits for a turn.
    ///
    /// - Returns: How long it took.
    func take(_ host: String, _ priority: Priority, _ throttle: Throttle) async throws -> Duration {
        let began = timeline.now()
        let id = state.withLock { $0.queue.start(host, throttle, at: began) ? nil : $0.makeID() }
        guard let id else { return .zero }
        let waiter = TurnQueue.Waiter(id: id, host: host, priority: priority, throttle: throttle)
        let hasTurn = await withTaskCancellationHandler {
            await enter(waiter).value()
        } onCancel: {
            leave(id)
        }
        guard hasTurn else { throw CancellationError() }
        return timeline.now() - began
    }

    /// Takes a turn if one is free and nobody waits for it.
    func takeIfFree(_ host: String, _ throttle: Throttle) -> Bool {
        let now = timeline.now()
        return state.withLock { $0.queue.start(host, throttle, at: now) }
    }

    /// Takes a turn without waiting.
    func takeAtOnce(_ host: String, _ throttle: Throttle) {
        let now = timeline.now()
        state.withLock { $0.queue.begin(host, throttle, at: now) }
    }

    /// Gives a turn back.
    func giveBack(_ host: String) { change { $0.queue.end(host, at: $1) } }

    /// Lets nobody start to a host for a while.
    func pause(_ host: String, for duration: Duration) {
        change { $0.queue.pause(host, until: $1 + min(duration, Self.longestPause)) }
    }

    private func enter(_ waiter: TurnQueue.Waiter) -> Delivery<Bool> {
        let turn = Delivery<Bool>()
        let isCancelled = change { state, _ in
            // The flag is set before the cancellation handler runs, and the handler needs this lock: either it is
            // seen here, or the handler finds the waiter.
            if Task.isCancelled { return true }
            state.queue.enter(waiter)
            state.waiters[waiter.id] = turn
            return false
        }
        if isCancelled { turn.deliver(false) }
        return turn
    }

    private func leave(_ id: Int) {
        let turn = change { state, _ in
            state.queue.leave(id)
            return state.waiters.removeValue(forKey: id)
        }
        turn?.deliver(false)
    }

    /// Changes the state, then lets all go who may, and sets the timer for the next one.
    @discardableResult
    private func change<Value>(_ body: (inout State, Duration) -> Value) -> Value {
        let now = timeline.now()
        let (value, ready, stale) = state.withLock { state in
            let value = body(&state, now)
            var ready: [Delivery<Bool>] = []
            while let id = state.queue.next(at: now) { state.waiters.removeValue(forKey: id).map { ready.append($0) } }
            return (value, ready, setTimer(&state))
        }
        stale?.cancel()
        for turn in ready { turn.deliver(true) }
        return value
    }

    /// Sets the timer anew where it would be too late, and returns one that nobody needs any more.
    private func setTimer(_ state: inout State) -> Task<Void, Never>? {
        guard let wake = state.queue.wake else {
            defer { state.timer = nil }
            return state.timer?.task
        }
        if let timer = state.timer, timer.time <= wake { return nil }
        let stale = state.timer?.task
        let id = state.makeID()
        // Detached, because nothing of the task that happens to set it may pass over to it. It ends when nobody waits.
        let task = Task.detached { [self] in
            do {
                try await timeline.sleep(wake)
            } catch {
                return  // Cancelled, because another timer or none is needed.
            }
            change { state, _ in if state.timer?.id == id { state.timer = nil } }
        }
        state.timer = Timer(id: id, time: wake, task: task)
        return stale
    }
}
