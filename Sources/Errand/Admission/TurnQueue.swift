/// Who may go on the wire and who waits: slots per host and in total, rates and pauses; a pure function of time.
///
/// The most urgent goes first, and among equals the one who came first. After eight in a row that passed somebody who
/// came earlier and could have gone, that one goes: nobody waits forever behind more urgent ones.
///
/// Each operation takes time logarithmic in the number of hosts for which somebody waits, and linear in the number of
/// different ``Throttle/maximumInTotal`` among those who wait, which are as many as there are throttles in the program.
struct TurnQueue: Sendable {
    /// One who wants a turn.
    struct Waiter: Sendable {
        /// Counts up: the smaller came first.
        let id: Int
        let host: String
        let priority: Priority
        let throttle: Throttle
    }

    private struct Host {
        var running = 0
        var pace = Pace()
        /// How far back the pace of the host counts.
        var window = Duration.zero
        /// The server's wish: none starts before.
        var resumes = Duration.zero
        /// Those who wait, by priority.
        var lines = (Line(), Line(), Line())

        var isWaitedFor: Bool { lines.0.count + lines.1.count + lines.2.count > 0 }

        /// The first of each line.
        var heads: (Int?, Int?, Int?) { (lines.0.first, lines.1.first, lines.2.first) }

        mutating func change(_ priority: Priority, _ body: (inout Line) -> Void) {
            switch priority {
            case .low: body(&lines.0)
            case .normal: body(&lines.1)
            case .high: body(&lines.2)
            }
        }

        func isAtRest(at now: Duration) -> Bool {
            running == 0 && !isWaitedFor && resumes <= now && pace.isAtRest(at: now, longest: window)
        }

        /// The earliest time for one more, as far as times matter.
        func earliest(_ throttle: Throttle) -> Duration {
            throttle.rate.map { max(resumes, pace.earliest(by: $0)) } ?? resumes
        }

        /// Where the first of a line stands; `nil` while the host has no slot for it.
        func place(of throttle: Throttle, at now: Duration) -> TurnHeads.Place? {
            guard running < throttle.maximumPerHost ?? .max else { return nil }
            let earliest = earliest(throttle)
            return earliest <= now ? .ready : .due(earliest)
        }
    }

    /// How many may pass somebody who came earlier.
    static let maximumPassedCount = 8

    private var hosts: [String: Host] = [:]
    private var hostLimit = 1_000
    private var waiters: [Int: Waiter] = [:]
    /// The first of each line for which its host has a slot.
    private var heads = TurnHeads()
    private(set) var running = 0
    private var passed = 0
    /// The latest time that was told: callers read the clock before they take turns here.
    private var latest = Duration.zero

    var waitingCount: Int { waiters.count }
    var hostCount: Int { hosts.count }

    /// Lets one start at once, where nobody waits for the host and every limit allows it.
    mutating func start(_ host: String, _ throttle: Throttle, at now: Duration) -> Bool {
        latest = max(latest, now)
        guard running < throttle.maximumInTotal ?? .max, isFree(host, throttle) else { return false }
        begin(host, throttle, at: now)
        return true
    }

    /// Whether nobody waits for a host that has a slot by now.
    private func isFree(_ host: String, _ throttle: Throttle) -> Bool {
        guard let state = hosts[host] else { return true }
        return !state.isWaitedFor && state.place(of: throttle, at: latest) == .ready
    }

    /// Counts one that goes on the wire whatever the limits say.
    mutating func begin(_ host: String, _ throttle: Throttle, at now: Duration) {
        latest = max(latest, now)
        forgetHosts()
        running += 1
        change(host) { [latest] state in
            state.running += 1
            guard let rate = throttle.rate else { return }
            state.pace.start(by: rate, at: latest)
            state.window = max(state.window, rate.duration)
        }
    }

    /// One is off the wire.
    mutating func end(_ host: String, at now: Duration) {
        latest = max(latest, now)
        guard hosts[host]?.running ?? 0 > 0 else { return }
        running -= 1
        change(host) { $0.running -= 1 }
        if hosts[host]?.isAtRest(at: latest) == true { hosts[host] = nil }
    }

    /// Lets nobody start to a host before a time.
    mutating func pause(_ host: String, until time: Duration) {
        forgetHosts()
        change(host) { $0.resumes = max($0.resumes, time) }
    }

    mutating func enter(_ waiter: Waiter) {
        waiters[waiter.id] = waiter
        change(waiter.host) { host in host.change(waiter.priority) { $0.append(waiter.id) } }
    }

    /// Takes one out who does not want a turn any more.
    mutating func leave(_ id: Int) {
        guard let waiter = remove(id) else { return }
        place(waiter.host)
    }

    /// Lets the next one start who may; `nil` when nobody may by now.
    mutating func next(at now: Duration) -> Int? {
        latest = max(latest, now)
        guard let (urgent, oldest) = heads.next(with: running, at: latest) else { return nil }
        let chosen = passed < Self.maximumPassedCount ? urgent : oldest
        passed = chosen == oldest ? 0 : passed + 1
        guard let waiter = remove(chosen) else { return nil }
        begin(waiter.host, waiter.throttle, at: latest)
        return chosen
    }

    /// When somebody may start for whom there is a slot; `nil` when all wait for slots, or nobody waits.
    var wake: Duration? {
        mutating get { heads.wake(with: running, at: latest) }
    }

    /// Takes one out of its line; the next of the line has no place yet.
    private mutating func remove(_ id: Int) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: id) else { return nil }
        heads.remove(id)
        let waiters = waiters
        hosts[waiter.host]?.change(waiter.priority) { line in line.removeOne { waiters[$0] != nil } }
        return waiter
    }

    private mutating func change(_ host: String, _ body: (inout Host) -> Void) {
        body(&hosts[host, default: Host()])
        place(host)
    }

    /// Notes where those stand who are the first of a host's lines.
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

    /// Forgets hosts of which nothing counts any more, when there are many.
    private mutating func forgetHosts() {
        guard hosts.count >= hostLimit else { return }
        hosts = hosts.filter { [latest] in !$0.value.isAtRest(at: latest) }
        hostLimit = max(1_000, 2 * hosts.count)
    }
}

extension TurnQueue {
    /// First in, first out; who leaves in between is passed over, and swept out when there are many of them.
    private struct Line {
        private var ids: [Int] = []
        private var start = 0
        private(set) var count = 0

        var first: Int? { count > 0 ? ids[start] : nil }

        mutating func append(_ id: Int) {
            ids.append(id)
            count += 1
        }

        /// Notes that one has left; `isHere` tells of the others.
        mutating func removeOne(_ isHere: (Int) -> Bool) {
            count -= 1
            while start < ids.count, !isHere(ids[start]) { start += 1 }
            guard ids.count > 2 * count + 32 else { return }
            ids = ids[start...].filter(isHere)
            start = 0
        }
    }
}
