/// The requests on the wire and the waiting ones: slots per host and in total, rates and pauses; a pure function of time.
///
/// The most urgent waiter starts first, and among equals the oldest. After eight in a row that passed an older waiter
/// that could have started, the oldest one starts: no waiter is starved by more urgent ones.
///
/// Each operation takes time logarithmic in the number of hosts with waiters on average, and linear in the number of different
/// values of ``Throttle/maximumInTotal`` among the waiters, at most one for each throttle in the program.
struct ThrottleQueue: Sendable {
    /// A request that waits for a permit.
    struct Waiter: Sendable {
        /// An increasing number: the smaller one is older.
        let id: Int
        let host: Origin
        let priority: RequestPriority
        let throttle: Throttle
    }

    private struct Host {
        var running = 0
        var pace = ThrottlePace()
        /// The end of the delay that the server requested: no request starts before.
        var resumes = Duration.zero
        /// The end of the time over which the starts of the requests that waited for ``resumes`` are spread.
        var settles = Duration.zero
        /// The time of its earliest entry among the hosts that are due.
        var due: Duration?
        /// The waiters, by priority.
        var lines = [Line](repeating: Line(), count: ThrottleQueue.priorityCount)

        var isWaitedFor: Bool { lines.contains { $0.count > 0 } }

        func isAtRest(at now: Duration) -> Bool {
            running == 0 && !isWaitedFor && resumes <= now && pace.isAtRest(at: now)
        }

        /// Counts a request that starts.
        mutating func start(at now: Duration) {
            running += 1
            guard resumes <= now, now < settles else { return }
            let rest = lines.reduce(0) { $0 + $1.count }
            if rest > 0 { resumes = now + (settles - now) / rest }
        }

        /// Returns the earliest time for one more request, considering rates and pauses only.
        func earliest(_ throttle: Throttle) -> Duration {
            throttle.rate.map { max(resumes, pace.earliest(by: $0)) } ?? resumes
        }

        /// Whether one more request may start, as far as the host is concerned.
        func isReady(for throttle: Throttle, at now: Duration) -> Bool {
            running < throttle.maximumPerHost ?? .max && earliest(throttle) <= now
        }
    }

    /// The waiters with one value of ``Throttle/maximumInTotal`` that were first in their lines and had a slot at their host.
    ///
    /// This is checked again when a waiter is the first of its heap.
    private struct Group: Sendable {
        let limit: Int
        /// By priority.
        var ready = [Heap<Int>](repeating: Heap(), count: ThrottleQueue.priorityCount)
    }

    /// A host with a slot, for which a waiter may start later.
    private struct Due: Sendable, Comparable {
        let time: Duration
        let host: Origin

        static func < (one: Due, other: Due) -> Bool { one.time < other.time }
    }

    /// The number of values of ``RequestPriority``.
    static let priorityCount = RequestPriority.high.rawValue + 1

    /// The number of waiters that may pass an older one.
    static let maximumPassedCount = 8

    private var hosts = HostTable<Origin, Host>(limit: 1_000)
    private var waiters = Table<Int, Waiter>()
    private var groups: [Group] = []
    private var due = Heap<Due>()
    private(set) var running = 0
    private var passed = 0
    /// The latest time so far: callers read the clock before they call this type, so times can arrive out of order.
    private var latest = Duration.zero

    var waitingCount: Int { waiters.count }
    /// The number of entries in all heaps.
    var entryCount: Int { groups.reduce(due.count) { $0 + $1.ready.reduce(0) { $0 + $1.count } } }
    var hostCount: Int { hosts.count }

    /// Starts a request at once, if none waits for the host and every limit allows it.
    mutating func start(_ host: Origin, _ throttle: Throttle, at now: Duration) -> Bool {
        latest = max(latest, now)
        guard running < throttle.maximumInTotal ?? .max, isFree(host, throttle) else { return false }
        begin(host, throttle, at: now)
        return true
    }

    /// Whether no request waits for a host and it has a slot now.
    private func isFree(_ host: Origin, _ throttle: Throttle) -> Bool {
        guard let state = hosts[host] else { return true }
        return !state.isWaitedFor && state.isReady(for: throttle, at: latest)
    }

    /// Counts a request that starts whatever the limits are.
    @inline(never)
    mutating func begin(_ host: Origin, _ throttle: Throttle, at now: Duration) {
        latest = max(latest, now)
        running += 1
        change(host) { [latest] state in
            state.start(at: latest)
            guard let rate = throttle.rate else { return }
            state.pace.start(by: rate, at: latest)
        }
    }

    /// Counts a request that has ended.
    mutating func end(_ host: Origin, at now: Duration) {
        latest = max(latest, now)
        guard hosts[host]?.running ?? 0 > 0 else { return }
        running -= 1
        change(host) { $0.running -= 1 }
    }

    /// Prevents requests to a host from starting before a time, and spreads the starts of those that wait for it.
    mutating func pause(_ host: Origin, until time: Duration, spread: Duration = .zero) {
        change(host) { state in
            guard time > state.resumes else { return }
            (state.resumes, state.settles) = (time, time + spread)
        }
    }

    mutating func enter(_ waiter: Waiter) {
        waiters[waiter.id] = waiter
        change(waiter.host) { $0.lines[waiter.priority.rawValue].append(waiter.id) }
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
        while let first = due.first, first.time <= latest {
            due.removeFirst()
            guard hosts[first.host]?.due == first.time else { continue }
            change(first.host) { $0.due = nil }
        }
        // The oldest of each priority.
        let heads = (0..<Self.priorityCount).compactMap { rank in
            groups.indices.compactMap { running < groups[$0].limit ? first(of: $0, rank) : nil }.min()
        }
        guard let urgent = heads.last, let oldest = heads.min() else { return nil }
        let chosen = passed < Self.maximumPassedCount ? urgent : oldest
        passed = chosen == oldest ? 0 : passed + 1
        guard let waiter = remove(chosen) else { return nil }
        begin(waiter.host, waiter.throttle, at: latest)
        return chosen
    }

    /// The time when one more waiter may be able to start, or `nil` if all wait for others to end or there are no waiters.
    var wake: Duration? { waiters.isEmpty ? nil : due.first?.time }

    /// Returns the first waiter of a heap that may start as far as its host is concerned, and drops those before it.
    private mutating func first(of group: Int, _ rank: Int) -> Int? {
        while let id = groups[group].ready[rank].first {
            if Self.mayStart(id, waiters, hosts, latest) { return id }
            groups[group].ready[rank].removeFirst()
        }
        return nil
    }

    private static func mayStart(
        _ id: Int,
        _ waiters: Table<Int, Waiter>,
        _ hosts: HostTable<Origin, Host>,
        _ now: Duration
    ) -> Bool {
        guard let waiter = waiters[id], let host = hosts[waiter.host] else { return false }
        return host.lines[waiter.priority.rawValue].first == id && host.isReady(for: waiter.throttle, at: now)
    }

    /// Removes a waiter from its line; the next one of the line is not among the ready ones yet.
    @inline(never)
    private mutating func remove(_ id: Int) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: id) else { return nil }
        let waiters = waiters
        hosts.change(waiter.host, default: Host()) { host in
            host.lines[waiter.priority.rawValue].removeOne { waiters[$0] != nil }
        }
        return waiter
    }

    @inline(never)
    private mutating func change(_ host: Origin, _ body: (inout Host) -> Void) {
        let now = latest
        hosts.change(host, default: Host(), isBusy: { !$0.isAtRest(at: now) }, body)
        place(host)
    }

    /// Adds the first waiters of a host's lines to the ready waiters, or the host to the hosts that are due.
    @inline(never)
    private mutating func place(_ host: Origin) {
        guard let state = hosts[host] else { return }
        var next: Duration?
        for id in state.lines.compactMap(\.first) {
            guard let waiter = waiters[id], state.running < waiter.throttle.maximumPerHost ?? .max else { continue }
            let time = state.earliest(waiter.throttle)
            if time <= latest { add(waiter) } else { next = min(next ?? time, time) }
        }
        // Later, the host is looked at again.
        guard let next, state.due.map({ next < $0 }) ?? true else { return }
        hosts.change(host, default: state) { $0.due = next }
        let hosts = hosts
        due.insert(Due(time: next, host: host), limit: 2 * waiters.count + 32) { hosts[$0.host]?.due == $0.time }
    }

    private mutating func add(_ waiter: Waiter) {
        let limit = waiter.throttle.maximumInTotal ?? .max
        if !groups.contains(where: { $0.limit == limit }) {
            groups.removeAll { $0.ready.allSatisfy(\.isEmpty) }
            groups.append(Group(limit: limit))
        }
        let (waiters, hosts, now) = (self.waiters, self.hosts, latest)
        for index in groups.indices where groups[index].limit == limit {
            groups[index].ready[waiter.priority.rawValue].insert(waiter.id, limit: 2 * waiters.count + 32) {
                Self.mayStart($0, waiters, hosts, now)
            }
        }
    }
}
