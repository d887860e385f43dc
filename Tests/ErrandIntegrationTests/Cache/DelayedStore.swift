import Foundation

@testable import Errand

/// A store whose reads take some time.
final class DelayedStore: CacheStore {
    let base = MemoryStore()
    private let seconds = Lock<@Sendable (CacheKey) -> Double>({ _ in 0 })
    private let readCount = Lock(0)
    let removeCount = Lock(0)
    /// How long each write takes.
    let writeSeconds = Lock(0.0)

    /// Makes each read take so long from now on, those that are under way included.
    func slow(_ seconds: Double) { self.seconds.withLock { $0 = { _ in seconds } } }
    func slow(_ key: CacheKey, _ seconds: Double) { self.seconds.withLock { $0 = { $0 == key ? seconds : 0 } } }

    /// Makes it fast, and waits for the reads that are under way.
    func recover() async {
        slow(0)
        while readCount.withLock({ $0 }) > 0 { await Task.yield() }
    }

    func entry(for key: CacheKey) throws -> CacheEntry? {
        readCount.withLock { $0 += 1 }
        defer { readCount.withLock { $0 -= 1 } }
        let began = ContinuousClock.now
        while case let rest = .seconds(seconds.withLock { $0 }(key)) - (ContinuousClock.now - began), rest > .zero {
            Thread.sleep(forTimeInterval: min(rest / .seconds(1), 0.01))
        }
        return base.entry(for: key)
    }
    func store(_ entry: CacheEntry, for key: CacheKey) throws {
        Thread.sleep(forTimeInterval: writeSeconds.withLock { $0 })
        base.store(entry, for: key)
    }
    func remove(for key: CacheKey) throws {
        removeCount.withLock { $0 += 1 }
        base.remove(for: key)
    }
    func removeAll(
        among keys: @Sendable (CacheKey) -> Bool,
        where isMeant: @Sendable (StoredEntry) -> Bool
    ) throws { base.removeAll(among: keys, where: isMeant) }
    func trim(toBytes limit: Int) throws { base.trim(toBytes: limit) }
    func totals() throws -> (count: Int, size: Int) { base.totals() }
}
