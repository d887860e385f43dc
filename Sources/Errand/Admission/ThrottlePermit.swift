internal import Foundation

/// The permit of one attempt, which sends once or, after redirects and handshakes, several times in a row.
final class ThrottlePermit: StoppableExchange {
    /// The permit that the current task is part of.
    @TaskLocal static var current: ThrottlePermit?

    private struct State {
        /// The host of the permit, or `nil` if it was released.
        var host: Origin?
        /// Whether a request was sent with it.
        var isUsed = false
        /// Whether a request is being sent with it.
        var isBusy = false
        /// Whether its send has to end.
        var isStopped = false
        /// Whether its attempt has ended; tasks that were started in the attempt and outlive it still see the permit.
        var isFinished = false
        /// Requests of the same attempt that wait until no other one is being sent with the permit.
        var waiters = Table<Int, Delivery<Void>>()
        var lastWaiter = 0
    }

    private let permits: ThrottlePermits
    private let outer: ThrottlePermit?
    private let throttle: Throttle
    private let priority: Priority
    private let waits: Bool
    private let queued: Lock<Duration>?
    private let accessories: AccessoryChain
    private let context: RequestContext
    private let state = Lock(State())

    init(permits: ThrottlePermits, of prepared: PreparedRequest, attempt: Int, waits: Bool) {
        self.permits = permits
        self.waits = waits
        outer = Self.current?.unfinished
        throttle = prepared.settings.throttle.value
        priority = prepared.priority
        queued = prepared.queued
        accessories = prepared.accessories
        var context = prepared.context
        context.attempt = attempt
        self.context = context
    }

    private init(beside permit: ThrottlePermit) {
        permits = permit.permits
        waits = permit.waits
        outer = permit.outer
        throttle = permit.throttle
        priority = permit.priority
        queued = permit.queued
        accessories = permit.accessories
        context = permit.context
    }

    /// Whether it is one of an agent's permits, or inside one, whose attempt is still in progress.
    func belongs(to permits: ThrottlePermits) -> Bool {
        if self.permits === permits, !state.withLock({ $0.isFinished }) { return true }
        return outer?.belongs(to: permits) == true
    }

    /// This permit, or the next one around it whose attempt is in progress, so that chains do not grow with time.
    private var unfinished: ThrottlePermit? { state.withLock { $0.isFinished } ? outer?.unfinished : self }

    /// Waits for the permit.
    func take(at host: Origin) async throws {
        guard waits else {
            permits.takeAtOnce(host, throttle)
            return state.withLock { $0.host = host }
        }
        let waited = try await permits.take(host, priority, throttle)
        let isStopped = state.withLock { state in
            state.host = host
            return state.isStopped
        }
        if isStopped { releaseNow() }
        guard waited > .zero else { return }
        queued?.withLock { $0 += waited }
        if !accessories.isEmpty { await accessories.notify(.didWait(waited), of: context) }
    }

    /// Ends the attempt: releases the permit, or lets the request that is still being sent with it do so.
    func finish() {
        let (isBusy, waiters) = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = Table() }
            return (state.isBusy, state.waiters)
        }
        if !isBusy { releaseNow() }
        for waiter in waiters.values { waiter.deliver(()) }
    }

    /// Releases the permit because its send has to end.
    ///
    /// Requests of code that still runs do not wait, because others may wait for them.
    func stop() {
        state.withLock { $0.isStopped = true }
        releaseNow()
    }

    /// Releases the permit unless that has been done.
    private func releaseNow() {
        let host = state.withLock { state in
            defer { state.host = nil }
            return state.host
        }
        if let host { permits.release(host) }
    }

    /// Returns the permit of the attempt that the current task is part of, or `nil` if nothing is throttled.
    static func current(of prepared: PreparedRequest) -> ThrottlePermit? {
        prepared.settings.throttle.value.isLimited ? current : nil
    }

    /// Sends a request of the attempt: the first one with the current permit, and further ones, or one to another host, with a
    /// permit that they wait for.
    @inline(never)
    func sending(
        _ request: OutgoingRequest,
        _ exchange: () async throws -> RawResponse
    ) async throws -> RawResponse {
        try await use(at: request.url.origin) {
            let response = try await exchange()
            // Before the permit is free for the next request.
            apply(response)
            return response
        }
    }

    private enum Use {
        /// With the current permit.
        case asIs
        /// With a new permit in place of the current one.
        case anew
        /// With an additional permit, after the attempt.
        case beside
        /// Not yet, while another request of the attempt is on the wire.
        case later
    }

    private func use(
        at host: Origin,
        _ exchange: () async throws -> RawResponse
    ) async throws -> RawResponse {
        var use = Use.later
        while use == .later {
            use = state.withLock { state -> Use in
                if state.isFinished { return .beside }
                if state.isBusy { return .later }
                defer { (state.isUsed, state.isBusy) = (true, true) }
                return !state.isUsed && state.host == host ? .asIs : .anew
            }
            guard use == .later else { break }
            // There may be a free permit beside the attempt's own. Waiting for one could take forever, because attempts that
            // wait in the same way may hold all of them.
            if permits.takeIfFree(host, throttle) {
                defer { permits.release(host) }
                return try await exchange()
            }
            try await waitUntilIdle()
        }
        if use == .beside {
            let permit = ThrottlePermit(beside: self)
            try await permit.take(at: host)
            defer { permit.finish() }
            return try await exchange()
        }
        defer {
            let (isOver, waiters) = state.withLock { state in
                state.isBusy = false
                defer { state.waiters = Table() }
                return (state.isFinished, state.waiters)
            }
            if isOver { releaseNow() }
            for waiter in waiters.values { waiter.deliver(()) }
        }
        if use == .anew {
            releaseNow()
            try await take(at: host)
        }
        return try await exchange()
    }

    /// Waits until no request is being sent with the permit, or its attempt has ended.
    private func waitUntilIdle() async throws {
        let waiter = Delivery<Void>()
        let id = state.withLock { state -> Int? in
            guard state.isBusy, !state.isFinished else { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = waiter
            return state.lastWaiter
        }
        guard let id else { return try Task.checkCancellation() }
        await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(())
        }
        state.withLock { $0.waiters[id] = nil }
        try Task.checkCancellation()
    }

    /// Applies the delay that a response requests to its host.
    private func apply(_ response: RawResponse) {
        guard response.statusCode == 429 || response.statusCode == 503 else { return }
        let pause = RetryAfter.pause(statusCode: response.statusCode, headers: response.headers, now: permits.date)
        if let pause, pause > .zero { permits.pause(response.url.origin, for: pause) }
    }
}
