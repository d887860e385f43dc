@testable import Errand

/// The reference for ``ThrottleQueue``, which looks at every host for every permit.
///
/// The waiter with the highest priority starts first, and among equals the one that arrived first. If eight in a row have
/// overtaken an earlier one that could have started, that one is next, so none waits forever.
struct LinearThrottleQueue: Sendable {
    typealias Waiter = ThrottleQueue.Waiter

    private struct Host {
        var running = 0
        var pace = ThrottlePace()
        /// The earliest time of a start, from the server's `Retry-After`.
        var resumes = Duration.zero
        /// The waiters, by priority.
        var lines = [Line](repeating: Line(), count: 3)

        var isWaitedFor: Bool { lines.contains { $0.count > 0 } }

        func isAtRest(at now: Duration) -> Bool {
            running == 0 && !isWaitedFor && resumes <= now && pace.isAtRest(at: now)
        }

        /// The earliest time for one more, as far as times matter.
        func earliest(_ throttle: Throttle) -> Duration {
            throttle.rate.map { max(resumes, pace.earliest(by: $0)) } ?? resumes
        }
    }

    /// The number of waiters that may overtake an earlier one.
    static let maximumPassedCount = 8

    private var hosts: [Origin: Host] = [:]
    private var hostLimit = 1_000
    /// The hosts that have waiters.
    private var awaited: Set<Origin> = []
    private var waiters: [Int: Waiter] = [:]
    private(set) var running = 0
    private var passed = 0
    /// The host of the last waiter that `next` returned.
    private(set) var hostOfLast: Origin = ""

    var waitingCount: Int { waiters.count }

    /// Starts a request at once if no other waits for the host and every limit allows it.
    mutating func start(_ host: Origin, _ throttle: Throttle, at now: Duration) -> Bool {
        guard !awaited.contains(host), isFree(host, throttle, at: now) else { return false }
        begin(host, throttle, at: now)
        return true
    }

    /// Counts a request that is sent whatever the limits are.
    mutating func begin(_ host: Origin, _ throttle: Throttle, at now: Duration) {
        forgetHosts(at: now)
        running += 1
        change(host) { state in
            state.running += 1
            guard let rate = throttle.rate else { return }
            state.pace.start(by: rate, at: now)
        }
    }

    /// A request has ended.
    mutating func end(_ host: Origin, at now: Duration) {
        guard let state = hosts[host], state.running > 0 else { return }
        running -= 1
        change(host) { $0.running -= 1 }
        if hosts[host]?.isAtRest(at: now) == true { hosts[host] = nil }
    }

    /// Lets no request to a host start before a time.
    mutating func pause(_ host: Origin, until time: Duration) { change(host) { $0.resumes = max($0.resumes, time) } }

    mutating func enter(_ waiter: Waiter) {
        waiters[waiter.id] = waiter
        awaited.insert(waiter.host)
        change(waiter.host) { $0.lines[waiter.priority.rawValue].append(waiter.id) }
    }

    /// Removes a waiter that does not need a permit any more.
    mutating func leave(_ id: Int) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        let waiters = waiters
        change(waiter.host) { $0.lines[waiter.priority.rawValue].removeOne { waiters[$0] != nil } }
        if hosts[waiter.host]?.isWaitedFor != true { awaited.remove(waiter.host) }
    }

    /// Starts the next waiter that may start; returns `nil` if none may yet.
    mutating func next(at now: Duration) -> Int? {
        var urgent: Waiter?
        var oldest: Waiter?
        for waiter in heads where isFree(waiter.host, waiter.throttle, at: now) {
            if urgent.map({ ($0.priority, -$0.id) < (waiter.priority, -waiter.id) }) ?? true { urgent = waiter }
            if oldest.map({ $0.id > waiter.id }) ?? true { oldest = waiter }
        }
        guard let urgent, let oldest else { return nil }
        let chosen = passed < Self.maximumPassedCount ? urgent : oldest
        passed = chosen.id == oldest.id ? 0 : passed + 1
        leave(chosen.id)
        hostOfLast = chosen.host
        begin(chosen.host, chosen.throttle, at: now)
        return chosen.id
    }

    /// The time at which a waiter with a slot may start; `nil` if all wait for slots, or none waits.
    var wake: Duration? {
        heads.filter { hasSlot($0.host, $0.throttle) }.map { hosts[$0.host]?.earliest($0.throttle) ?? .zero }.min()
    }

    /// The first waiter of each line.
    private var heads: [Waiter] {
        var heads: [Waiter] = []
        for host in awaited {
            guard let lines = hosts[host]?.lines else { continue }
            for line in lines { if let id = line.first, let waiter = waiters[id] { heads.append(waiter) } }
        }
        return heads
    }

    private func hasSlot(_ host: Origin, _ throttle: Throttle) -> Bool {
        running < throttle.maximumInTotal ?? .max && hosts[host]?.running ?? 0 < throttle.maximumPerHost ?? .max
    }

    private func isFree(_ host: Origin, _ throttle: Throttle, at now: Duration) -> Bool {
        hasSlot(host, throttle) && hosts[host]?.earliest(throttle) ?? .zero <= now
    }

    private mutating func change(_ host: Origin, _ body: (inout Host) -> Void) {
        body(&hosts[host, default: Host()])
    }

    /// Forgets hosts for which nothing counts any more, if there are many.
    private mutating func forgetHosts(at now: Duration) {
        guard hosts.count >= hostLimit else { return }
        hosts = hosts.filter { !$0.value.isAtRest(at: now) }
        hostLimit = max(1_000, 2 * hosts.count)
    }
}

extension LinearThrottleQueue {
    /// First in, first out; waiters that leave are skipped, and removed once there are many.
    private struct Line {
        private var ids: [Int] = []
        private var start = 0
        private(set) var count = 0

        var first: Int? { count > 0 ? ids[start] : nil }

        mutating func append(_ id: Int) {
            ids.append(id)
            count += 1
        }

        /// Records that a waiter has left; `isHere` finds the others.
        mutating func removeOne(_ isHere: (Int) -> Bool) {
            count -= 1
            while start < ids.count, !isHere(ids[start]) { start += 1 }
            guard ids.count > 2 * count + 32 else { return }
            ids = ids[start...].filter(isHere)
            start = 0
        }
    }
}
