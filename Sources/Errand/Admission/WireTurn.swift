internal import Foundation

/// The turn of one attempt, which is on the wire once or, after redirects and handshakes, several times in a row.
final class WireTurn: Sendable {
    /// The turn that the current task is part of.
    @TaskLocal static var current: WireTurn?

    private struct State {
        /// Where the turn is; `nil` when it was given back.
        var host: String?
        /// Whether something was sent in it.
        var isUsed = false
        /// Whether something is being sent in it.
        var isBusy = false
        /// Whether its attempt is over; tasks that were started in the attempt and outlive it still see the turn.
        var isFinished = false
        /// Requests of the same attempt that wait until nothing is being sent in the turn.
        var waiters: [Int: Delivery<Void>] = [:]
        var lastWaiter = 0
    }

    private let turns: Turns
    private let outer: WireTurn?
    private let throttle: Throttle
    private let priority: Priority
    private let waits: Bool
    private let queued: Lock<Duration>?
    private let accessories: AccessoryChain
    private let context: RequestContext
    private let state = Lock(State())

    init(turns: Turns, of prepared: PreparedRequest, attempt: Int, waits: Bool) {
        self.turns = turns
        self.waits = waits
        outer = Self.current?.unfinished
        throttle = prepared.choices.throttle.value
        priority = prepared.priority
        queued = prepared.queued
        accessories = prepared.accessories
        var context = prepared.context
        context.attempt = attempt
        self.context = context
    }

    private init(beside turn: WireTurn) {
        turns = turn.turns
        waits = turn.waits
        outer = turn.outer
        throttle = turn.throttle
        priority = turn.priority
        queued = turn.queued
        accessories = turn.accessories
        context = turn.context
    }

    /// Whether it is one of an agent's turns, or inside one, whose attempt is still under way.
    func belongs(to turns: Turns) -> Bool {
        if self.turns === turns, !state.withLock({ $0.isFinished }) { return true }
        return outer?.belongs(to: turns) == true
    }

    /// This turn, or the next one around it whose attempt is under way, so that chains do not grow with time.
    private var unfinished: WireTurn? { state.withLock { $0.isFinished } ? outer?.unfinished : self }

    /// Waits for the turn.
    func take(at host: String) async throws {
        guard waits else {
            turns.takeAtOnce(host, throttle)
            return state.withLock { $0.host = host }
        }
        let waited = try await turns.take(host, priority, throttle)
        state.withLock { $0.host = host }
        guard waited > .zero else { return }
        queued?.withLock { $0 += waited }
        if !accessories.isEmpty { await accessories.tell(.didWait(waited), of: context) }
    }

    /// The attempt is over: gives the turn back, or lets what is still being sent in it do so.
    func finish() {
        let (isBusy, waiters) = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [:] }
            return (state.isBusy, state.waiters)
        }
        if !isBusy { giveBack() }
        for waiter in waiters.values { waiter.deliver(()) }
    }

    /// Gives the turn back if nothing is being sent in it: the code that has it was left behind.
    ///
    /// What that code sends still passes, because others may wait for it.
    func release() { if !state.withLock({ $0.isBusy }) { giveBack() } }

    /// Gives the turn back, if that was not done.
    private func giveBack() {
        let host = state.withLock { state in
            defer { state.host = nil }
            return state.host
        }
        if let host { turns.giveBack(host) }
    }

    /// The turn of the attempt that the current task is part of; `nil` where nothing is throttled.
    static func current(of prepared: PreparedRequest) -> WireTurn? {
        prepared.choices.throttle.value.isLimited ? current : nil
    }

    /// Sends a request of the attempt: the first in the turn that there is, each further one, and one to another host, in
    /// one that it waits for anew.
    func sending(
        _ request: OutgoingRequest,
        _ exchange: () async throws -> RawResponse
    ) async throws -> RawResponse {
        let response = try await use(at: request.url.origin, exchange)
        heed(response)
        return response
    }

    private enum Use {
        /// In the turn that there is.
        case asIs
        /// In a new one, in place of the one that there is.
        case anew
        /// In one more, after the attempt.
        case beside
        /// None yet, while another request of the attempt is on the wire.
        case later
    }

    private func use(
        at host: String,
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
            // There may be a free permit beside that of the attempt. Waiting for one could be for ever: all may be held
            // by attempts that wait as this one does.
            if turns.takeIfFree(host, throttle) {
                defer { turns.giveBack(host) }
                return try await exchange()
            }
            try await waitUntilIdle()
        }
        if use == .beside {
            let turn = WireTurn(beside: self)
            try await turn.take(at: host)
            defer { turn.finish() }
            return try await exchange()
        }
        defer {
            let (isFinished, waiters) = state.withLock { state in
                state.isBusy = false
                defer { state.waiters = [:] }
                return (state.isFinished, state.waiters)
            }
            if isFinished { giveBack() }
            for waiter in waiters.values { waiter.deliver(()) }
        }
        if use == .anew {
            giveBack()
            try await take(at: host)
        }
        return try await exchange()
    }

    /// Waits until nothing is being sent in the turn, or its attempt is over.
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

    /// Heeds what an answer says about when to come back.
    private func heed(_ response: RawResponse) {
        guard response.statusCode == 429 || response.statusCode == 503 else { return }
        let pause = ServerTiming.pause(statusCode: response.statusCode, headers: response.headers, now: turns.date)
        if let pause, pause > .zero { turns.pause(response.url.origin, for: pause) }
    }
}
