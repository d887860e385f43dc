/// The revalidations of a cache that run in the background, each a send of its own that ``Agent/cancelAll(where:)`` ends.
///
/// At most one runs for each key, whichever agents use the cache.
final class CacheRevalidations: Sendable {
    private let running = Lock(Table<CacheKey, Task<Void, Never>>())

    /// The number of revalidations that are running.
    var count: Int { running.withLock { $0.count } }

    /// Starts a revalidation of an entry, unless one is running.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - isDone: Whether it has ended already.
    ///   - work: Revalidates the entry.
    ///   - report: Reports the result once the revalidation has ended, so that a report that blocks does not delay the next.
    func start<Result: Sendable>(
        _ key: CacheKey,
        unless isDone: () -> Bool,
        work: @escaping @Sendable () async -> Result,
        report: @escaping @Sendable (Result) async -> Void
    ) {
        running.withLock { running in
            guard running[key] == nil, !isDone() else { return }
            running[key] = Task { [self] in
                let ended = await work()
                self.running.withLock { $0[key] = nil }
                await report(ended)
            }
        }
    }
}
