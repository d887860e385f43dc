/// The requests on the wire and those that wait: slots per host and in total, rates and pauses; a pure function of time.
///
/// The most urgent waiter starts first, and among equals the oldest. After eight in a row that passed an older waiter
/// that could have started, the oldest one starts: no waiter is starved by more urgent ones.
///
/// Each operation takes time logarithmic in the number of hosts with waiters, and linear in the number of different values of
/// ``Throttle/maximumInTotal`` among the waiters, at most one for each throttle in the program.
struct ThrottleQueue: Sendable {
    /// A request that waits for a permit.
    struct Waiter: Sendable {
        /// An increasing number: the smaller one is older.
        let id: Int
        let host: String
        let priority: Priority
        let throttle: Throttle
    }

    private struct Host {
        var running = 0
        var pace = ThrottlePace()
        /// The time that the server asked to wait for: no request starts before.
        var resumes = Duration.zero
        /// The waiters, by priority.
        var lines = (Line(), Line(), Line())

        var isWaitedFor: Bool { lines.0.count + lines.1.count + lines.2.count > 0 }

        /// The first waiter of each line.
        var heads: (Int?, Int?, Int?) { (lines.0.first, lines.1.first, lines.2.first) }

        mutating func change(_ priority: Priority, _ body: (inout Line) -> Void) {
            switch priority {
            case .low: body(&lines.0)
            case .normal: body(&lines.1)
            case .high: body(&lines.2)
            }
        }

        func isAtRest(at now: Duration) -> Bool {
            running == 0 && !isWaitedFor && resumes <= now && pace.isAtRest(at: now)
        }

        /// Returns the earliest time for one more request, considering rates and pauses only.
        func earliest(_ throttle: Throttle) -> Duration {
            throttle.rate.map { max(resumes, pace.earliest(by: $0)) } ?? resumes
        }

        /// Returns the place of the first waiter of a line, or `nil` while the host has no slot for it.
        func place(of throttle: Throttle, at now: Duration) -> ThrottleQueueHeads.Place? {
            guard running < throttle.maximumPerHost ?? .max else { return nil }
            let earliest = earliest(throttle)
            return earliest <= now ? .ready : .due(earliest)
        }
    }

    /// The number of waiters that may pass an older one.
    static let maximumPassedCount = 8

    private var hosts = Table<String, Host>()
    private var hostLimit = 1_000
    private var waiters = Table<Int, Waiter>()
    /// The first waiter of each line for which its host has a slot.
    private var heads = ThrottleQueueHeads()
    private(set) var running = 0
    private var passed = 0
    /// The latest time so far: callers read the clock before they call this type, so times can arrive out of order.
    private var latest = Duration.zero

    var waitingCount: Int { waiters.count }
    var hostCount: Int { hosts.count }

    /// Starts a request at once, if none waits for the host and every limit allows it.
    mutating func start(_ host: String, _ throttle: Throttle, at now: Duration) -> Bool {
        latest = max(latest, now)
        guard running < throttle.maximumInTotal ?? .max, isFree(host, throttle) else { return false }
        begin(host, throttle, at: now)
        return true
    }

    /// Whether no request waits for a host and it has a slot now.
    private func isFree(_ host: String, _ throttle: Throttle) -> Bool {
        guard let state = hosts[host] else { return true }
        return !state.isWaitedFor && state.place(of: throttle, at: latest) == .ready
    }

    /// Counts a request that starts whatever the limits are.
    @inline(never)
    mutating func begin(_ host: String, _ throttle: Throttle, at now: Duration) {
        latest = max(latest, now)
        forgetHosts()
        running += 1
        change(host) { [latest] state in
            state.running += 1
            guard let rate = throttle.rate else { return }
            state.pace.start(by: rate, at: latest)
        }
    }

    /// Counts a request that has ended.
    mutating func end(_ host: String, at now: Duration) {
        latest = max(latest, now)
        guard hosts[host]?.running ?? 0 > 0 else { return }
        running -= 1
        change(host) { $0.running -= 1 }
        if hosts[host]?.isAtRest(at: latest) == true { hosts[host] = nil }
    }

    /// Prevents requests to a host from starting before a time.
    mutating func pause(_ host: String, until time: Duration) {
        forgetHosts()
        change(host) { $0.resumes = max($0.resumes, time) }
    }

    mutating func enter(_ waiter: Waiter) {
        waiters[waiter.id] = waiter
        change(waiter.host) { host in host.change(waiter.priority) { $0.append(waiter.id) } }
    }

    /// Removes a waiter that no longer needs a permit.
    mutating func leave(_ id: Int) {
        guard let waiter = remove(id) else { return }
        place(waiter.host)
    }

    /// Starts the next waiter that may start, or returns `nil` if there is none now.
    @inline(never)
    mutating func next(at now: Duration) -> Int? {
        latest = max(latest, now)
        guard let (urgent, oldest) = heads.next(with: running, at: latest) else { return nil }
        let chosen = passed < Self.maximumPassedCount ? urgent : oldest
        passed = chosen == oldest ? 0 : passed + 1
        guard let waiter = remove(chosen) else { return nil }
        begin(waiter.host, waiter.throttle, at: latest)
        return chosen
    }

    /// The time when a waiter with a slot may start, or `nil` if all wait for slots or there are no waiters.
    var wake: Duration? {
        mutating get { heads.wake(with: running, at: latest) }
    }

    /// Removes a waiter from its line; the next one of the line has no place yet.
    @inline(never)
    private mutating func remove(_ id: Int) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: id) else { return nil }
        heads.remove(id)
        let waiters = waiters
        hosts.change(waiter.host, default: Host()) { host in
            host.change(waiter.priority) { line in line.removeOne { waiters[$0] != nil } }
        }
        return waiter
    }

    @inline(never)
    private mutating func change(_ host: String, _ body: (inout Host) -> Void) {
        hosts.change(host, default: Host(), body)
        place(host)
    }

    /// Sets the places of the first waiters of a host's lines.
    @inline(never)
    private mutating func place(_ host: String) {
        guard let (low, normal, high) = hosts[host]?.heads else { return }
        if let low { place(low, of: host) }
        if let normal { place(normal, of: host) }
        if let high { place(high, of: host) }
    }

    private mutating func place(_ id: Int, of host: String) {
        guard let waiter = waiters[id] else { return }
        heads.place(waiter, hosts[host]?.place(of: waiter.throttle, at: latest))
    }

    /// Removes hosts without any state that matters, if there are many hosts.
    private mutating func forgetHosts() {
        guard hosts.count >= hostLimit else { return }
        hosts.removeAll { [latest] in $0.isAtRest(at: latest) }
        hostLimit = max(1_000, 2 * hosts.count)
    }
}

extension ThrottleQueue {
    /// A first-in, first-out queue; waiters that leave early are skipped, and removed when there are many of them.
    private struct Line {
        private var ids: [Int] = []
        private var start = 0
        private(set) var count = 0

        var first: Int? { count > 0 ? ids[start] : nil }

        mutating func append(_ id: Int) {
            ids.append(id)
            count += 1
        }

        /// Records that one waiter has left; `isHere` returns whether another one is still waiting.
        mutating func removeOne(_ isHere: (Int) -> Bool) {
            count -= 1
            while start < ids.count, !isHere(ids[start]) { start += 1 }
            guard ids.count > 2 * count + 32 else { return }
            ids = ids[start...].filter(isHere)
            start = 0
        }
    }
}
