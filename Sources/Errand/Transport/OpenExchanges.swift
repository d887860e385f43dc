internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The exchanges of a transport that have not ended, and the watch over how long each of them is silent.
///
/// URLSession could keep that watch, but would make a new timer for every line of a head and every chunk of a body, each
/// of which wakes a thread. So its own timeout is ``SessionPlatform/never``, and here one timer for all looks when the first is due.
final class OpenExchanges: Sendable {
    /// The shortest time between two looks, however many exchanges are due soon.
    private static let shortestPause = Duration.milliseconds(5)

    /// How long a busy queue of URLSession, on which bytes may be waiting, can put off a timeout: as long again, this at
    /// least.
    private static let shortestPatience = Duration.seconds(1)

    private struct State {
        var exchanges: [ObjectIdentifier: SessionExchange] = [:]
        /// The one asked for last, for what happens to an exchange happens in a row.
        var last: (task: ObjectIdentifier, exchange: SessionExchange)?
        /// When the timer fires that counts; one that fires at another time was overtaken.
        var nextLook: ContinuousClock.Instant?

        /// Whether nobody looks sooner; then the caller has to.
        mutating func claimLook(at due: ContinuousClock.Instant) -> Bool {
            if let nextLook, nextLook <= due { return false }
            nextLook = due
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
        let pause = exchange.idleTimeout
        let due = ContinuousClock.now + pause
        let isFirst = state.withLock { state in
            state.exchanges[ObjectIdentifier(task)] = exchange
            return state.claimLook(at: due)
        }
        if isFirst { look(after: pause, at: due) }
    }

    func remove(_ task: URLSessionTask) -> SessionExchange? {
        let task = ObjectIdentifier(task)
        return state.withLock { state in
            if state.last?.task == task { state.last = nil }
            return state.exchanges.removeValue(forKey: task)
        }
    }

    private func look(after pause: Duration, at due: ContinuousClock.Instant) {
        queue.asyncAfter(deadline: .now() + pause.timeInterval) { [weak self] in self?.look(at: due) }
    }

    /// Times out what was silent for too long, and looks again when the next one is due.
    ///
    /// Bytes may have come that URLSession had no time for; so it first does what waits on its queue.
    private func look(at time: ContinuousClock.Instant) {
        let exchanges = state.withLock { state -> [SessionExchange] in
            guard state.nextLook == time else { return [] }
            state.nextLook = nil
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
        }
        if !due.isEmpty {
            SharedQueue.afterItsWork { [due] in
                for exchange in due where exchange.isSilent { exchange.timeOut() }
            }
        }
        guard let rest else { return }
        let pause = max(rest, Self.shortestPause)
        let next = ContinuousClock.now + pause
        if state.withLock({ $0.claimLook(at: next) }) { look(after: pause, at: next) }
    }
}

extension SessionExchange {
    /// Whether nothing was sent or received for longer than it may.
    fileprivate var isSilent: Bool { idleTimeLeft().map { $0 <= .zero } ?? false }
}
