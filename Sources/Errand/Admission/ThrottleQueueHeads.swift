/// The waiters that are first in their lines and have a slot at their host: those that may start, and those that are
/// due later.
///
/// An entry of a heap is valid only while ``places`` agrees with it. Invalid entries are dropped when they reach the top,
/// and removed when they are the majority.
struct ThrottleQueueHeads: Sendable {
    /// Whether a waiter may start as far as its host is concerned.
    enum Place: Sendable, Equatable {
        case ready
        /// Not before a time.
        case due(Duration)
    }

    /// The waiters with one value of ``Throttle/maximumInTotal``.
    fileprivate struct Group: Sendable {
        let limit: Int
        /// By priority.
        var ready: (Heap<Int>, Heap<Int>, Heap<Int>) = (Heap(), Heap(), Heap())
        var due = Heap<Due>()

        var isReady: Bool { !(ready.0.isEmpty && ready.1.isEmpty && ready.2.isEmpty) }
    }

    fileprivate struct Due: Sendable, Comparable {
        let time: Duration
        let id: Int
        let priority: Priority

        static func == (one: Due, other: Due) -> Bool { one.id == other.id && one.time == other.time }
        static func < (one: Due, other: Due) -> Bool { (one.time, one.id) < (other.time, other.id) }
    }

    private var groups: [Group] = []
    private var places: [Int: Place] = [:]

    /// The number of entries in all heaps.
    var entryCount: Int {
        groups.reduce(0) { $0 + $1.ready.0.count + $1.ready.1.count + $1.ready.2.count + $1.due.count }
    }

    /// Sets the place of a waiter, or removes it if `nil`.
    mutating func place(_ waiter: ThrottleQueue.Waiter, _ place: Place?) {
        guard places[waiter.id] != place else { return }
        places[waiter.id] = place
        guard let place else { return }
        let limit = waiter.throttle.maximumInTotal ?? .max
        let index = groups.firstIndex { $0.limit == limit } ?? groups.endIndex
        if index == groups.endIndex { groups.append(Group(limit: limit)) }
        switch place {
        case .ready: groups[index].insert(waiter.id, waiter.priority, places)
        case .due(let time):
            groups[index].insert(Due(time: time, id: waiter.id, priority: waiter.priority), places)
        }
    }

    mutating func remove(_ id: Int) { places[id] = nil }

    /// Returns the most urgent and the oldest waiter that may start while so many requests are on the wire.
    mutating func next(with running: Int, at now: Duration) -> (urgent: Int, oldest: Int)? {
        update(with: running, at: now)
        var urgent: (rank: Int, id: Int)?
        var oldest: Int?
        func look(_ rank: Int, _ id: Int?) {
            guard let id else { return }
            if urgent.map({ $0.rank < rank || $0.rank == rank && $0.id > id }) ?? true { urgent = (rank, id) }
            oldest = min(oldest ?? id, id)
        }
        for group in groups where running < group.limit {
            look(0, group.ready.0.first)
            look(1, group.ready.1.first)
            look(2, group.ready.2.first)
        }
        guard let urgent, let oldest else { return nil }
        return (urgent.id, oldest)
    }

    /// Returns when the first waiter is due while so many requests are on the wire, which is now if one may start.
    mutating func wake(with running: Int, at now: Duration) -> Duration? {
        update(with: running, at: now)
        return groups.lazy.filter { running < $0.limit }.compactMap { $0.isReady ? now : $0.due.first?.time }.min()
    }

    /// Marks due waiters as ready, and drops invalid entries from the tops of the heaps.
    private mutating func update(with running: Int, at now: Duration) {
        var index = groups.startIndex
        while index < groups.endIndex {
            if running < groups[index].limit { update(index, at: now) }
            if groups[index].isReady || !groups[index].due.isEmpty {
                index += 1
            } else {
                groups.remove(at: index)
            }
        }
    }

    private mutating func update(_ index: Int, at now: Duration) {
        while let first = groups[index].due.first {
            let isDue = places[first.id] == .due(first.time)
            guard !isDue || first.time <= now else { break }
            groups[index].due.removeFirst()
            guard isDue else { continue }
            places[first.id] = .ready
            groups[index].insert(first.id, first.priority, places)
        }
        groups[index].dropTops(places)
    }
}

extension ThrottleQueueHeads.Group {
    fileprivate mutating func insert(_ id: Int, _ priority: Priority, _ places: [Int: ThrottleQueueHeads.Place]) {
        let limit = 2 * places.count + 32
        switch priority {
        case .low: ready.0.insert(id, limit: limit) { places[$0] == .ready }
        case .normal: ready.1.insert(id, limit: limit) { places[$0] == .ready }
        case .high: ready.2.insert(id, limit: limit) { places[$0] == .ready }
        }
    }

    fileprivate mutating func insert(_ entry: ThrottleQueueHeads.Due, _ places: [Int: ThrottleQueueHeads.Place]) {
        due.insert(entry, limit: 2 * places.count + 32) { places[$0.id] == .due($0.time) }
    }

    fileprivate mutating func dropTops(_ places: [Int: ThrottleQueueHeads.Place]) {
        ready.0.removeFirst { places[$0] != .ready }
        ready.1.removeFirst { places[$0] != .ready }
        ready.2.removeFirst { places[$0] != .ready }
    }
}
