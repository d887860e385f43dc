internal import Dispatch

/// A serial queue for reads that may block; work that is dropped before it begins is never run.
///
/// It has a list of its own, because a dispatch queue keeps dropped work for as long as a disk hangs. Work that can do
/// without its result is late after ``patience``: then it is dropped, or its result only fills the memory. While work is
/// running that is late, the store is considered to hang, and the queue accepts no more of that kind.
final class CacheReadQueue: Sendable {
    typealias Work = @Sendable () -> Void

    /// The time after which a read is late, in milliseconds; a disk takes a few.
    static let patience = 500

    private struct Item {
        let work: Work
        var late: Work?
        let added = DispatchTime.now()
        var isLate: Bool { late != nil && DispatchTime.now() >= added + .milliseconds(CacheReadQueue.patience) }
    }

    private struct State {
        var waiting: [Int: Item] = [:]
        /// The numbers of the waiting work, and of some that was dropped, from ``first`` on.
        var order: [Int] = []
        var first = 0
        var lastID = 0
        var running: Item?
        var isRunning = false
        var isHanging = false
        /// Whether a timer will look for late work.
        var isWatched = false

        mutating func next() -> Work? {
            (running, isHanging) = (nil, false)
            while first < order.count {
                let id = order[first]
                first += 1
                if let item = waiting.removeValue(forKey: id) {
                    running = item
                    return item.work
                }
            }
            (order, first, isRunning) = ([], 0, false)
            return nil
        }

        mutating func drop(_ id: Int) -> Item? {
            let dropped = waiting.removeValue(forKey: id)
            if order.count > 2 * waiting.count + 64 {
                order = order[first...].filter { waiting[$0] != nil }
                first = 0
            }
            return dropped
        }

        /// Removes what is late, and returns what to call.
        mutating func takeLate() -> [Work] {
            var late: [Work] = []
            if let item = running, item.isLate, let call = item.late {
                late.append(call)
                running?.late = nil
                isHanging = true
            }
            for id in order[first...] where isHanging ? waiting[id]?.late != nil : waiting[id]?.isLate == true {
                if let call = drop(id)?.late { late.append(call) }
            }
            return late
        }

        /// The time at which the next work will be late, or `nil` if there is none.
        var nextLate: DispatchTime? {
            let times = waiting.values.compactMap { $0.late == nil ? nil : $0.added }
            let running = running?.late == nil ? nil : running?.added
            return (times + [running].compactMap(\.self)).min().map { $0 + .milliseconds(CacheReadQueue.patience) }
        }
    }

    private let queue: DispatchQueue
    private let timers: DispatchQueue
    private let state = Lock(State())

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - label: The name of the queue.
    ///   - timers: The queue that late work is reported on.
    init(label: String, timers: DispatchQueue) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.timers = timers
    }

    /// Adds work.
    ///
    /// - Parameters:
    ///   - late: Called if the work takes too long, or `nil` if there is no limit.
    ///   - work: The work.
    /// - Returns: The number to drop it by, or `nil` if it is not accepted, because the store hangs.
    func add(orIfLate late: Work? = nil, _ work: @escaping Work) -> Int? {
        let (id, isFirst, isToBeWatched) = state.withLock { state -> (Int?, Bool, Bool) in
            if late != nil, state.isHanging { return (nil, false, false) }
            state.lastID += 1
            state.waiting[state.lastID] = Item(work: work, late: late)
            state.order.append(state.lastID)
            defer { state.isRunning = true }
            let isToBeWatched = late != nil && !state.isWatched
            if isToBeWatched { state.isWatched = true }
            return (state.lastID, !state.isRunning, isToBeWatched)
        }
        guard let id else { return nil }
        if isFirst {
            queue.async { [self] in
                while let work = state.withLock({ $0.next() }) { work() }
            }
        }
        if isToBeWatched { watch(at: .now() + .milliseconds(Self.patience)) }
        return id
    }

    /// Drops work, unless it has begun.
    func drop(_ id: Int) {
        // Freed outside the lock.
        let dropped = state.withLock { $0.drop(id) }
        withExtendedLifetime(dropped) {}
    }

    private func watch(at time: DispatchTime) {
        timers.asyncAfter(deadline: time) { [self] in
            let (late, next) = state.withLock { state in
                let late = state.takeLate()
                let next = state.nextLate
                state.isWatched = next != nil
                return (late, next)
            }
            for call in late { call() }
            if let next { watch(at: next) }
        }
    }
}
