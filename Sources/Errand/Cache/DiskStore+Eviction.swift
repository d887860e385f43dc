internal import Foundation

// Eviction takes a sample: whole folders, enough of them for some thousand entries, and all of a small store. Names are
// digests, so that the folders are alike. The oldest entries of the sample are removed until it has its share of nine
// tenths of the limit; so the next pass is due only after many more entries, and no pass costs more than its sample.

extension DiskStore {
    /// The minimum number of entries in a sample, if there are so many.
    private static let sampleSize = 4096

    /// Removes approximately the least recently used entries until their size is at most `limit` bytes.
    public func trim(toBytes limit: Int) {
        let target = CacheTotals(count: .max, size: max(0, limit))
        // All entries are to be removed, those of other processes too, which have not been counted.
        if limit <= 0 { _ = scan() }
        var visited = 0
        // Once around: then every folder has its share, except for files that cannot be removed.
        while visited < 256, totals().exceeds(target) { visited += pass(target, share: 1) }
    }

    /// Returns the number of entries, and their size in bytes.
    ///
    /// They are counted once, which takes about 2 µs for each entry, and then updated; changes by other processes are
    /// included in the next count.
    public func totals() -> CacheTotals { state.withLock(\.totals) ?? scan() }

    func scan() -> CacheTotals {
        var totals = CacheTotals()
        for shard in 0..<256 {
            files.visit(shard) { _, size, _ in totals = totals + CacheTotals(count: 1, size: size) }
        }
        state.withLock { state in
            state.totals = totals
            state.storesSinceScan = 0
        }
        return totals
    }

    /// Runs one pass if the limit is exceeded; counts before if many entries were stored since the last count.
    func evict(to limit: CacheTotals) {
        let isDue = state.withLock { $0.storesSinceScan >= max(1024, ($0.totals?.count ?? 0) / 4) || $0.totals == nil }
        let totals = isDue ? scan() : self.totals()
        guard totals.exceeds(limit) else { return }
        pass(limit, share: 0.9)
    }

    private struct Candidate {
        let key: CacheKey
        let size: Int
        let changed: Int64
    }

    /// Runs a pass, and returns the number of folders visited.
    @discardableResult
    private func pass(_ limit: CacheTotals, share: Double) -> Int {
        let (first, count) = state.withLock { ($0.nextShard, $0.totals?.count ?? 0) }
        let shards = count <= Self.sampleSize ? 256 : max(1, 256 * Self.sampleSize / count)
        var sample: [Candidate] = []
        var totals = CacheTotals()
        for shard in first..<first + shards {
            files.visit(shard % 256) { key, size, changed in
                sample.append(Candidate(key: key, size: size, changed: changed))
                totals = totals + CacheTotals(count: 1, size: size)
            }
        }
        state.withLock { state in
            state.nextShard = (first + shards) % 256
            if shards == 256 { state.totals = totals }
        }
        let part = share * Double(shards) / 256
        let target = CacheTotals(
            count: Int(exactly: (Double(limit.count) * part).rounded(.down)) ?? .max,
            size: Int(exactly: (Double(limit.size) * part).rounded(.down)) ?? .max
        )
        sample = sample.sortedUnspecialized { $0.changed < $1.changed }
        for candidate in sample where totals.exceeds(target) {
            discard(candidate.key)
            totals = totals - CacheTotals(count: 1, size: candidate.size)
        }
        return shards
    }

    /// Visits all entries, and removes those for which the closure returns `true`.
    public func removeAll(
        among keys: @Sendable (CacheKey) -> Bool = { _ in true },
        where isMeant: @Sendable (StoredEntry) -> Bool
    ) {
        for shard in 0..<256 { removeAll(in: shard, among: keys, where: isMeant) }
    }

    /// Removes all entries of a URL, which are in one folder.
    public func removeAll(ofGroup group: CacheGroup) {
        files.visit(Int(group.digest >> 56)) { key, _, _ in if group.contains(key) { discard(key) } }
    }

    private func removeAll(in shard: Int, among keys: (CacheKey) -> Bool, where isMeant: (StoredEntry) -> Bool) {
        var found: [(key: CacheKey, size: Int, changed: Int64)] = []
        files.visit(shard) { key, size, changed in if keys(key) { found.append((key, size, changed)) } }
        for (key, size, changed) in found {
            // A damaged entry has been removed.
            guard let entry = try? read(key, touching: false) else { continue }
            let date = Date(timeIntervalSince1970: Double(changed) / 1e9)
            if isMeant(StoredEntry(key: key, entry: entry, byteCount: size, lastUsed: date)) { discard(key) }
        }
    }
}
