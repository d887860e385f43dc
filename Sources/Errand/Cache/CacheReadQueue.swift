internal import Dispatch

/// A serial queue for reads that may block; work that is dropped before it begins is never run.
///
/// It has a list of its own, because a dispatch queue keeps dropped work for as long as a disk hangs. Work that can do
/// without its result is late at the time that it states: then it is dropped, or its result only fills the memory. While
/// any work takes longer than ``CachePatience/maximum``, the store is considered to hang, and the queue accepts no more of
/// that kind.
final class CacheReadQueue: Sendable {
    typealias Work = @Sendable () -> Void

    /// When work is late, and what is called then.
    struct Late: Sendable {
        let deadline: DispatchTime
        let call: Work
    }

    private struct Item {
        let work: Work
        var late: Late?
        /// When it began, once it has.
        var began: DispatchTime?
        var isLate: Bool { late.map { DispatchTime.now() >= $0.deadline } ?? false }
        func isHanging(after patience: Int) -> Bool {
            began.map { DispatchTime.now() >= $0 + .milliseconds(patience) } ?? false
        }
    }

    private struct State {
        var waiting: [Int: Item] = [:]
        /// The numbers of the waiting work, and of some that was dropped, from ``first`` on.
        var order: [Int] = []
        var first = 0
        var lastID = 0
        var running: Item?
        var isRunning = false
        /// When a timer will look for late work, or `nil` if none will.
        var watchTime: DispatchTime?

        mutating func next() -> Work? {
            running = nil
            while first < order.count {
                let id = order[first]
                first += 1
                if let item = waiting.removeValue(forKey: id) {
                    running = item
                    running?.began = .now()
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
            if let item = running, item.isLate, let call = item.late?.call {
                late.append(call)
                running?.late = nil
            }
            for id in order[first...] where waiting[id]?.isLate == true {
                if let call = drop(id)?.late?.call { late.append(call) }
            }
            return late
        }

        /// The time at which the next work will be late, or `nil` if there is none.
        var nextLate: DispatchTime? {
            var times = waiting.values.compactMap { $0.late?.deadline }
            if let time = running?.late?.deadline { times.append(time) }
            return times.min()
        }
    }

    private let queue: DispatchQueue
    private let timers: DispatchQueue
    private let patience: Int
    private let state = Lock(State())

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - label: The name of the queue.
    ///   - timers: The queue that late work is reported on.
    ///   - patience: The time after which running work hangs, in milliseconds.
    init(label: String, timers: DispatchQueue, patience: Int) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        (self.timers, self.patience) = (timers, patience)
    }

    /// Adds work.
    ///
    /// - Parameters:
    ///   - late: Called if the work takes too long, or `nil` if there is no limit.
    ///   - work: The work.
    /// - Returns: The number to drop it by, or `nil` if it is not accepted, because the store hangs.
    func add(orIfLate late: Late? = nil, _ work: @escaping Work) -> Int? {
        let (id, isFirst, isToBeWatched) = state.withLock { state -> (Int?, Bool, Bool) in
            if late != nil, state.running?.isHanging(after: patience) == true { return (nil, false, false) }
            state.lastID += 1
            state.waiting[state.lastID] = Item(work: work, late: late)
            state.order.append(state.lastID)
            defer { state.isRunning = true }
            guard let late, state.watchTime.map({ late.deadline < $0 }) ?? true else {
                return (state.lastID, !state.isRunning, false)
            }
            state.watchTime = late.deadline
            return (state.lastID, !state.isRunning, true)
        }
        guard let id else { return nil }
        if isFirst {
            queue.async { [self] in
                while let work = state.withLock({ $0.next() }) { work() }
            }
        }
        if isToBeWatched, let late { watch(at: late.deadline) }
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
            let (late, next) = state.withLock { state -> ([Work], DispatchTime?) in
                let late = state.takeLate()
                // An earlier time has a timer of its own.
                guard state.watchTime == time else { return (late, nil) }
                state.watchTime = state.nextLate
                return (late, state.watchTime)
            }
            for call in late { call() }
            if let next { watch(at: next) }
        }
    }
}
