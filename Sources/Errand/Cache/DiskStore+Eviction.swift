internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

// An eviction visits all files, so that it removes the least recently used ones of all, and corrects the totals by the
// way. It removes a tenth of the limit more than it has to: the next one is due only after many more entries, which makes
// its cost per entry constant.

extension DiskStore {
    /// Removes the least recently used entries until their size is at most `limit` bytes.
    public func trim(toBytes limit: Int) {
        var totals = totalsIfPossible()
        let target = CacheTotals(count: limit <= 0 ? 0 : .max, size: max(0, limit))
        // If the lock cannot be had, the totals keep what is removed until the next count.
        try? evict(ifOver: target, to: target, in: &totals)
        if limit <= 0 { try? totals.didClear(files.totals) }
    }

    /// Makes room for an entry that is about to be written.
    ///
    /// - Throws: `POSIXError`: `EDQUOT` if files that are being written take all of the room.
    func makeRoom(for size: Int, of key: CacheKey, in totals: inout DiskTotals) throws {
        let added = CacheTotals(count: 1, size: size)
        if let known = totals.values, !(known + added).exceeds(limit) { return }
        // Nothing is removed if even that wouldn't be enough.
        let room = limit - files.sweep(isLocked: totals.isLocked)
        guard !added.exceeds(room) else { throw POSIXError(.EDQUOT) }
        let target = limit - added - CacheTotals(count: room.count / 10, size: room.size / 10)
        try evict(ifOver: limit - added, to: target, replacing: key, in: &totals)
        guard let left = totals.values, !(left + added).exceeds(limit) else { throw POSIXError(.EDQUOT) }
    }

    /// Removes entries so that as much fits on a full disk.
    ///
    /// - Returns: Whether any was removed.
    func freeDisk(for size: Int, in totals: inout DiskTotals) throws -> Bool {
        let before = count(in: &totals)
        let removable = before.size - files.sweep(isLocked: totals.isLocked).size
        var facts = statvfs()
        // Nothing is removed if even that wouldn't be enough.
        guard statvfs(files.path, &facts) == 0, removable > 0,
            Double(facts.f_bavail) * Double(facts.f_frsize) + Double(removable) >= Double(size)
        else { return false }
        let target = CacheTotals(count: .max, size: before.size - max(1, size, before.size / 10))
        try evict(ifOver: target, to: target, in: &totals)
        return totals.values != before
    }

    /// Counts all files.
    func count(in totals: inout DiskTotals) -> CacheTotals {
        var counted = files.sweep(isLocked: totals.isLocked)
        for shard in 0..<256 {
            files.visit(shard) { _, size, _ in counted = counted + CacheTotals(count: 1, size: size) }
        }
        // If it cannot be written, such as to a read-only disk, the next caller counts again.
        try? totals.set(counted)
        return counted
    }

    /// Counts all files, and removes the least recently used ones if there are too many.
    ///
    /// - Parameters:
    ///   - limit: The totals that are not too many.
    ///   - target: What is left if there were too many.
    ///   - replaced: The key of an entry that is removed before all others.
    ///   - totals: They are exact afterwards.
    /// - Throws: `POSIXError` if the totals cannot be written.
    private func evict(
        ifOver limit: CacheTotals,
        to target: CacheTotals,
        replacing replaced: CacheKey? = nil,
        in totals: inout DiskTotals
    ) throws {
        var all = Candidates(replaced: replaced, uses: state.withLock(\.uses), now: timespec.now.nanoseconds)
        var left = files.sweep(isLocked: totals.isLocked)
        for shard in 0..<256 {
            files.visit(shard) { key, size, changed in
                left = left + CacheTotals(count: 1, size: size)
                let used = all.add(key, size, changed)
                if used &- changed > max(0, touchInterval) { files.touch(key, used) }
            }
        }
        if left.exceeds(limit) {
            for (key, size) in all.oldest(left - target, atLeast: left - limit) where files.remove(key) {
                left = left - CacheTotals(count: 1, size: size)
            }
        }
        try totals.set(left)
    }

    // MARK: Removing what is meant

    /// Visits all entries, and removes those for which the closure returns `true`.
    public func removeAll(
        among keys: @Sendable (CacheKey) -> Bool = { _ in true },
        where isMeant: @Sendable (StoredEntry) -> Bool
    ) {
        for shard in 0..<256 {
            var found: [(key: CacheKey, size: Int, changed: Int64)] = []
            files.visit(shard, among: keys) { found.append(($0, $1, $2)) }
            remove(
                found.compactMap { key, size, changed in
                    // A damaged entry has been removed.
                    guard let entry = try? read(key, touching: false) else { return nil }
                    let date = Date(timeIntervalSince1970: Double(changed) / 1e9)
                    let stored = StoredEntry(key: key, entry: entry, byteCount: size, lastUsed: date)
                    return isMeant(stored) ? key : nil
                }
            )
        }
    }

    /// Removes all entries of a URL, which are in one folder.
    public func removeAll(ofGroup group: CacheGroup) {
        var found: [CacheKey] = []
        files.visit(Int(group.digest >> 56), among: group.contains) { key, _, _ in found.append(key) }
        remove(found)
    }
}

/// The files that an eviction chooses from, in three arrays, because the times are read some fifty times.
private struct Candidates {
    let replaced: CacheKey?
    let uses: RecentTimes
    let now: Int64
    private var keys: [CacheKey] = []
    private var sizes: [Int] = []
    private var times: [Int64] = []

    init(replaced: CacheKey?, uses: RecentTimes, now: Int64) {
        (self.replaced, self.uses, self.now) = (replaced, uses, now)
    }

    /// Adds a file, and returns the time at which it was last used.
    mutating func add(_ key: CacheKey, _ size: Int, _ changed: Int64) -> Int64 {
        let used = max(changed, uses.time(of: key) ?? changed)
        keys.append(key)
        sizes.append(size)
        // A time in the future is unknown, because a clock was set back.
        let isKnown = used > 0 && used &- now < 60_000_000_000
        times.append(key == replaced || !isKnown ? 0 : used)
        return used
    }

    /// Returns the least recently used files, as many as have some totals; or one less, if that has as many bytes as
    /// necessary, so that a store of few large entries isn't emptied.
    func oldest(_ wanted: CacheTotals, atLeast necessary: CacheTotals) -> [(CacheKey, Int)] {
        // Found by halving the range of times, in linear time; sorting a million files takes seconds.
        var (low, high) = (times.min() ?? 0, times.max() ?? 0)
        while low < high {
            let middle = low + (high - low) / 2
            var sum = CacheTotals()
            for place in times.indices where times[place] <= middle {
                sum = sum + CacheTotals(count: 1, size: sizes[place])
            }
            if wanted.count <= sum.count, wanted.size <= sum.size { high = middle } else { low = middle + 1 }
        }
        var found: [(CacheKey, Int)] = []
        var sum = CacheTotals()
        func add(_ place: Int) {
            found.append((keys[place], sizes[place]))
            sum = sum + CacheTotals(count: 1, size: sizes[place])
        }
        for place in times.indices where times[place] < high { add(place) }
        for place in times.indices where times[place] == high && (sum.count < wanted.count || sum.size < wanted.size) {
            add(place)
        }
        if let last = found.last, sum.count > max(wanted.count, necessary.count), sum.size - last.1 >= necessary.size {
            found.removeLast()
        }
        return found
    }
}
