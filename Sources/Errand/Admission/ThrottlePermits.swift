internal import Foundation

/// The permits of an agent, for which each attempt waits as its ``Throttle`` requires (stage 5).
///
/// A permit is acquired before adapters run, so that signatures and credentials are fresh, and released when the response
/// is complete. Requests that an adapter, an interceptor or a refresh sends through the same agent do not wait, but are
/// counted: they would otherwise wait for sends that wait for them.
final class ThrottlePermits: Sendable {
    /// The maximum time for which a server can hold requests back.
    static let longestPause = Duration.seconds(60)

    /// What a server allows one user.
    struct Quota: Hashable, Sendable {
        let host: Origin
        /// A digest of the user.
        let user: String
    }

    private struct Timer {
        let id: Int
        let time: Duration
        let task: Task<Void, Never>
    }

    private struct State {
        var queue = ThrottleQueue()
        var waiters = Table<Int, Delivery<Bool>>()
        var timer: Timer?
        /// The times of the resets of used quotas.
        var resets = HostTable<Quota, Duration>(limit: 1_000)
        private var lastID = 0

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }
    }

    private let timeline: Timeline
    private let state = Lock(State())

    init(timeline: Timeline) { self.timeline = timeline }

    /// The current date, to compare a `Retry-After` date with if a response has no `Date` field.
    var date: Date { timeline.date() }

    /// The number of waiting requests.
    var waitingCount: Int { state.withLock { $0.queue.waitingCount } }
    /// The number of requests on the wire.
    var runningCount: Int { state.withLock { $0.queue.running } }

    /// Whether requests of the current task must not wait, because others wait for them.
    var isPassedBy: Bool { RefreshScope.isActive || ThrottlePermit.current?.belongs(to: self) == true }

    /// Runs an attempt with a permit, or directly if it is not throttled.
    ///
    /// - Throws: The error of the attempt, or `CancellationError` while it waits.
    func run(
        _ prepared: PreparedRequest,
        attempt: Int,
        _ work: () async throws -> RawResponse
    ) async throws -> RawResponse {
        guard prepared.settings.throttle.value.isLimited else { return try await work() }
        return try await runThrottled(prepared, attempt: attempt, work)
    }

    @inline(never)
    private func runThrottled(
        _ prepared: PreparedRequest,
        attempt: Int,
        _ work: () async throws -> RawResponse
    ) async throws -> RawResponse {
        let permit = ThrottlePermit(
            permits: self,
            of: prepared,
            attempt: attempt,
            waits: !(prepared.isPassing || isPassedBy)
        )
        // It is free as soon as the send has to end, whatever user code does.
        let slot = prepared.stop.slot()
        slot.fill(with: permit)
        defer {
            slot.clear()
            permit.finish()
        }
        try await permit.take(at: prepared.outgoing.url.origin)
        return try await ThrottlePermit.$current.withValue(permit) { try await work() }
    }

    /// Waits for a permit.
    ///
    /// - Returns: The time spent waiting.
    func take(_ host: Origin, _ priority: RequestPriority, _ throttle: Throttle) async throws -> Duration {
        let began = timeline.now()
        let id = state.withLock { $0.queue.start(host, throttle, at: began) ? nil : $0.makeID() }
        guard let id else { return .zero }
        let waiter = ThrottleQueue.Waiter(id: id, host: host, priority: priority, throttle: throttle)
        let hasPermit = await withTaskCancellationHandler {
            await enter(waiter).value()
        } onCancel: {
            leave(id)
        }
        guard hasPermit else { throw CancellationError() }
        return timeline.now() - began
    }

    /// Acquires a permit without waiting, whatever the limits are.
    func takeAtOnce(_ host: Origin, _ throttle: Throttle) {
        let now = timeline.now()
        state.withLock { $0.queue.begin(host, throttle, at: now) }
    }

    /// Releases a permit.
    func release(_ host: Origin) { change { $0.queue.end(host, at: $1) } }

    /// Prevents requests to a host from starting for a while.
    func pause(_ host: Origin, for duration: Duration) {
        let pause = min(duration, Self.longestPause)
        change { $0.queue.pause(host, until: $1 + pause, spread: RetryAfter.spread(of: pause)) }
    }

    /// Prevents requests of a user to a host from starting for a while.
    func pause(_ quota: Quota, for duration: Duration) {
        let end = timeline.now() + min(duration, Self.longestPause)
        state.withLock { $0.resets.change(quota, default: end) { $0 = max($0, end) } }
    }

    /// Waits for the reset of a used quota, and returns the time spent waiting.
    func waitForReset(of quota: Quota) async throws -> Duration {
        let began = timeline.now()
        var now = began
        while let end = state.withLock({ $0.resets[quota] }), now < end {
            try await timeline.sleep(end + RetryAfter.spread(of: end - now) * Double.random(in: 0..<1))
            now = timeline.now()
        }
        return now - began
    }

    private func enter(_ waiter: ThrottleQueue.Waiter) -> Delivery<Bool> {
        let permit = Delivery<Bool>()
        let isCancelled = change { state, _ in
            // The flag is set before the cancellation handler runs, and the handler needs this lock: either it is
            // seen here, or the handler finds the waiter.
            if Task.isCancelled { return true }
            state.queue.enter(waiter)
            state.waiters[waiter.id] = permit
            return false
        }
        if isCancelled { permit.deliver(false) }
        return permit
    }

    private func leave(_ id: Int) {
        let permit = change { state, _ in
            state.queue.leave(id)
            return state.waiters.removeValue(forKey: id)
        }
        permit?.deliver(false)
    }

    /// Changes the state, then starts all waiters that may start, and sets the timer for the next one.
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
        for permit in ready { permit.deliver(true) }
        return value
    }

    /// Replaces the timer if it would fire too late, and returns one that is no longer needed.
    private func setTimer(_ state: inout State) -> Task<Void, Never>? {
        guard let wake = state.queue.wake else {
            defer { state.timer = nil }
            return state.timer?.task
        }
        if let timer = state.timer, timer.time <= wake { return nil }
        let stale = state.timer?.task
        let id = state.makeID()
        // Detached, so that it inherits nothing from the task that sets it. It ends when nothing waits.
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
