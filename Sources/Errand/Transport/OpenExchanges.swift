internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The exchanges of a transport that have not ended, and the timer for their idle timeouts and renewals.
///
/// URLSession's own timeout creates a timer, which wakes a thread, for every line of a header section and every chunk
/// of a body. So it is set to ``SessionPlatform/never``, and one timer here checks all exchanges when the first is due.
final class OpenExchanges: Sendable {
    /// The minimum time between two checks, however many exchanges are due soon.
    private static let shortestPause = Duration.milliseconds(5)

    /// The minimum time by which a busy queue of URLSession, on which bytes may be waiting, can delay a timeout.
    ///
    /// The delay is as long as the timeout itself if that is longer.
    private static let shortestPatience = Duration.seconds(1)

    private struct State {
        var exchanges: [ObjectIdentifier: SessionExchange] = [:]
        /// The exchange that was looked up last, because callbacks of one exchange come in succession.
        var last: (task: ObjectIdentifier, exchange: SessionExchange)?
        /// The tasks that have begun last on a connection with HTTP/1.1 over TLS, by its TLS session.
        var tasksOfSessions: [UnsafeRawPointer: ObjectIdentifier] = [:]
        /// The time of the timer that is in effect; one that fires at another time was replaced.
        var nextCheck: Moment?

        /// Returns whether no timer fires earlier; the caller then has to set one.
        mutating func claimCheck(at due: Moment) -> Bool {
            if let nextCheck, nextCheck <= due { return false }
            nextCheck = due
            return true
        }
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "errand.transport.idle")

    subscript(_ task: URLSessionTask) -> SessionExchange? {
        let task = ObjectIdentifier(task)
        return state.withLock { state in
            if let last = state.last, last.task == task { return last.exchange }
            guard let exchange = state.exchanges[task] else { return nil }
            state.last = (task, exchange)
            return exchange
        }
    }

    var count: Int { state.withLock { $0.exchanges.count } }

    func add(_ exchange: SessionExchange, for task: URLSessionTask) {
        let pause = min(exchange.idleTimeout, SessionPlatform.firstRenewal ?? exchange.idleTimeout)
        let due = Moment.now + pause
        let isFirst = state.withLock { state in
            state.exchanges[ObjectIdentifier(task)] = exchange
            return state.claimCheck(at: due)
        }
        if isFirst { check(after: pause, at: due) }
    }

    func remove(_ task: URLSessionTask) -> SessionExchange? {
        let task = ObjectIdentifier(task)
        return state.withLock { state in
            if state.last?.task == task { state.last = nil }
            return state.exchanges.removeValue(forKey: task)
        }
    }

    #if canImport(FoundationNetworking)
    /// The minimum number of noted connections from which those of tasks that have ended are forgotten.
    private static let notedCount = 256

    /// Notes that a task begins on a connection, and returns whether no other one is using it.
    func take(_ session: UnsafeRawPointer, for task: URLSessionTask) -> Bool {
        let task = ObjectIdentifier(task)
        let other = state.withLock { state in
            state.tasksOfSessions[session].flatMap { $0 == task ? nil : state.exchanges[$0] }
        }
        // A task ends here later than its transfer, after which libcurl may use the connection.
        let isInUse = other?.state.withLock { $0.transfer }?.exclusiveSession == session
        return state.withLock { state in
            if state.tasksOfSessions.count >= max(Self.notedCount, 2 * state.exchanges.count) {
                state.tasksOfSessions = state.tasksOfSessions.filter { state.exchanges[$0.value] != nil }
            }
            if !isInUse { state.tasksOfSessions[session] = task }
            return !isInUse
        }
    }
    #endif

    private func check(after pause: Duration, at due: Moment) {
        queue.asyncAfter(deadline: .now() + pause.timeInterval) { [weak self] in self?.check(at: due) }
    }

    /// Times out exchanges that were idle for too long, renews the due ones, and sets the timer for the next one.
    ///
    /// URLSession first processes what waits on its queue, because that may include bytes that have arrived.
    private func check(at time: Moment) {
        let exchanges = state.withLock { state -> [SessionExchange] in
            guard state.nextCheck == time else { return [] }
            state.nextCheck = nil
            return Array(state.exchanges.values)
        }
        var rest: Duration?
        var due: [SessionExchange] = []
        for exchange in exchanges {
            guard var left = exchange.idleTimeLeft() else { continue }
            if left <= .zero {
                due.append(exchange)
                left += max(Self.shortestPatience, exchange.idleTimeout)
            }
            if left > .zero { rest = min(rest ?? left, left) } else { exchange.timeOut() }
            if let next = exchange.renewIfDue() { rest = min(rest ?? next, next) }
        }
        if !due.isEmpty {
            SessionQueueLoad.afterItsWork { [due] in
                for exchange in due where exchange.isSilent { exchange.timeOut() }
            }
        }
        guard let rest else { return }
        let pause = max(rest, Self.shortestPause)
        let next = Moment.now + pause
        if state.withLock({ $0.claimCheck(at: next) }) { check(after: pause, at: next) }
    }
}

extension SessionExchange {
    /// The maximum idle time: not negative, and small enough that clocks can add it to their time.
    var idleTimeout: Duration { min(max(.zero, options.idleTimeout), .seconds(Int32.max)) }

    /// The remaining idle time, or `nil` if the exchange has ended or was stopped.
    func idleTimeLeft() -> Duration? {
        state.withLock { state in
            guard !state.hasEnded, !state.isCancelled else { return nil }
            // Without a task it still waits for its start.
            guard state.task != nil, let last = state.lastActivity else { return idleTimeout }
            // A sender that waits for the reader is not idle.
            return idleTimeout - (Moment.now - max(last, state.stream?.pausedUntil ?? last))
        }
    }

    /// Renews the reception if the exchange has reached the age for it.
    ///
    /// There may be no connection yet, or the request may not have been sent. So the age doubles each time, and if the
    /// request has a body, it increases by one second at most.
    ///
    /// - Returns: The time until the next renewal, or `nil` if there is none.
    func renewIfDue() -> Duration? {
        let (rest, isDue) = state.withLock { state -> (Duration?, Bool) in
            guard !state.hasEnded, !state.isCancelled, let age = state.renewalAge else { return (nil, false) }
            guard state.task != nil, let began = state.times.startedMoment else { return (age, false) }
            let now = Moment.now
            guard now - began >= age else { return (age - (now - began), false) }
            let pause = request.body.isEmpty ? now - began : min(now - began, .seconds(1))
            state.renewalAge = now - began + pause
            return (pause, true)
        }
        if isDue {
            endIfAnswered()
            SessionReception.renew { [weak self] in self?.transferToRenew }
        }
        return rest
    }

    /// Ends the exchange if its response is complete and nothing of the request could be sent for a while.
    ///
    /// A server may respond before it has read a request, and never read the rest (RFC 9113, section 8.1).
    private func endIfAnswered() {
        let task = state.withLock { state -> URLSessionTask? in
            guard !state.hasEnded, !state.isCancelled, state.isAnswered, let last = state.lastActivity,
                Moment.now - last >= TransportOptions.patienceAfterResponse
            else { return nil }
            state.isComplete = true
            return state.task
        }
        if let task { cancellations.add(task) }
    }

    /// The transfer if the exchange runs, and is not paused for its reader; read on the queue of all sessions.
    private var transferToRenew: SessionTransfer? {
        state.withLock { state in
            !state.hasEnded && !state.isCancelled && state.stream?.isPaused != true ? state.transfer : nil
        }
    }

    func timeOut() { fail(NetworkError(.idleTimeout(options.idleTimeout))) }

    func noteActivity() { state.withLock { $0.lastActivity = .now } }

    /// Whether nothing was sent or received for longer than the idle timeout.
    fileprivate var isSilent: Bool { idleTimeLeft().map { $0 <= .zero } ?? false }
}
