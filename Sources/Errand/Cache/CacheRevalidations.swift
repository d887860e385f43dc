/// The revalidations of a cache that run in the background, each a send of its own that ``Agent/cancelAll(where:)`` ends.
///
/// At most one runs for each key, whichever agents use the cache. A send that has read an entry before its revalidation
/// ended does not start another one.
final class CacheRevalidations: Sendable {
    /// A point in time, by the revalidations that have ended before it.
    struct Mark: Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var running: [CacheKey: Task<Void, Never>] = [:]
        var number = 0
        /// The last revalidations that have ended.
        var ended: [CacheKey: Int] = [:]

        mutating func end(_ key: CacheKey) {
            running[key] = nil
            number += 1
            ended[key] = number
            // A send that has read an entry so long ago may start one too many.
            let limit = CacheRevalidations.maximumEndedCount
            if ended.count > 2 * limit { ended = ended.filter { $0.value > number - limit } }
        }
    }

    fileprivate static let maximumEndedCount = 1024
    private let state = Lock(State())

    /// The number of revalidations that are running.
    var count: Int { state.withLock { $0.running.count } }

    /// A mark to be taken before an entry is looked up.
    var mark: Mark { state.withLock { Mark(number: $0.number) } }

    /// Starts a revalidation of an entry that was looked up after a mark, unless one is running or has ended since.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - mark: The mark.
    ///   - work: Revalidates the entry.
    ///   - report: Reports the result once the revalidation has ended, so that a report that blocks does not delay the next.
    func start<Result: Sendable>(
        _ key: CacheKey,
        since mark: Mark,
        _ work: @escaping @Sendable () async -> Result,
        report: @escaping @Sendable (Result) async -> Void
    ) {
        state.withLock { state in
            guard state.running[key] == nil, state.ended[key] ?? 0 <= mark.number else { return }
            state.running[key] = Task { [self] in
                let result = await work()
                self.state.withLock { $0.end(key) }
                await report(result)
            }
        }
    }
}
