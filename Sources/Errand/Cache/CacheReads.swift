internal import Dispatch

/// The reads of a store that may block: a few at a time, and waited for until a time limit.
///
/// A read that nobody waits for any more is not begun. One that has begun goes on, and fills the memory. While a read takes
/// longer than the usual limit, the store hangs, and those behind it are not waited for.
final class CacheReads: Sendable {
    private struct State {
        /// When the read on each queue began, or `nil` if none is running.
        var began = [DispatchTime?](repeating: nil, count: CacheReads.queueCount)
        /// The waits with a limit that have begun since a timer looked last.
        var waits: [(limit: DispatchTime, wait: CacheWait<CacheEntry>)] = []
        /// When a timer will look for late waits, or `nil` if none will.
        var watchTime: DispatchTime?
    }

    private static let queueCount = 4
    // None of the queues is concurrent: on Linux, concurrent queues share their threads with all tasks, and a disk that hangs
    // would block those too.
    private let queues = (0..<queueCount).map { DispatchQueue(label: "errand.cache.reads.\($0)", qos: .userInitiated) }
    private let timers = DispatchQueue(label: "errand.cache.timers", qos: .userInitiated)
    private let patience: DispatchTimeInterval
    private let state = Lock(State())

    /// Creates the queues; a read that takes longer than `patience` milliseconds hangs.
    init(patience: Int) { self.patience = .milliseconds(patience) }

    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - limit: Until when the read is waited for, or `nil` if it is waited for however long it takes.
    ///   - stop: Ends the wait with the send.
    ///   - work: Reads the entry.
    /// - Returns: The entry.
    /// - Throws: The error of the work, ``CacheMiss/tooSlow``, or `CancellationError`.
    func entry(
        for key: CacheKey,
        until limit: DispatchTime?,
        endedBy stop: StopSignal?,
        _ work: @escaping @Sendable () throws -> CacheEntry
    ) async throws -> CacheEntry {
        let (wait, place) = (CacheWait<CacheEntry>(), Int(key.words.1 & 3))
        if let limit { try add(wait, limit, place) }
        queues[place].async { [self] in
            guard wait.isWanted else { return }
            state.withLock { $0.began[place] = .now() }
            let result = Result { try work() }
            state.withLock { $0.began[place] = nil }
            wait.finish(with: result)
        }
        return try await wait.value(endedBy: stop)
    }

    private func add(_ wait: CacheWait<CacheEntry>, _ limit: DispatchTime, _ place: Int) throws {
        let now = DispatchTime.now()
        let (isLate, isToBeWatched) = state.withLock { state -> (Bool, Bool) in
            if limit <= now || state.began[place].map({ $0 + patience <= now }) ?? false { return (true, false) }
            state.waits.append((limit, wait))
            guard state.watchTime.map({ limit < $0 }) ?? true else { return (false, false) }
            state.watchTime = limit
            return (false, true)
        }
        if isLate { throw CacheMiss.tooSlow }
        if isToBeWatched { watch(at: limit) }
    }

    private func watch(at time: DispatchTime) {
        timers.asyncAfter(deadline: time) { [self] in
            let now = DispatchTime.now()
            let (late, next) = state.withLock { state in
                let waits = state.waits.filter(\.wait.isWanted)
                state.waits = waits.filter { $0.limit > now }
                // An earlier time has a timer of its own.
                let isLast = state.watchTime == time
                if isLast { state.watchTime = state.waits.map(\.limit).min() }
                return (waits.filter { $0.limit <= now }, isLast ? state.watchTime : nil)
            }
            for (_, wait) in late { wait.finish(with: .failure(CacheMiss.tooSlow)) }
            if let next { watch(at: next) }
        }
    }
}
