public import Foundation

/// A store on disk with one self-contained file for each entry, which any number of processes may share.
///
/// A file is in one of 256 folders, named by its key. It is written to a temporary file and renamed, so that a reader
/// sees all of it or nothing, and its checksum covers every byte: a damaged, truncated or foreign file is a miss, and
/// removed. There is no index: opening costs nothing, and a lookup is one `open` and one `read`. Files have mode 0600 in
/// folders of mode 0700. Nothing is synced to the medium: after a power failure some entries are misses. The file system
/// has to support `flock`; on one that doesn't, nothing is stored.
///
/// Each store counts what it writes. With its first entry, and whenever it has written a tenth of its limit, it looks at all
/// files, including files of other processes, and removes the least recently used ones until a tenth of the limit is free.
/// Recency is exact for lookups in this process, and to about ten minutes for those in others.
public final class DiskStore: CacheStore {
    /// The directory that contains the files.
    public let directory: URL

    let files: DiskFolder
    private let maximumSize: Int
    private let maximumCount: Int
    private let cipher: (any CacheCipher)?
    /// The interval, in nanoseconds, after which a read renews a file's modification time, which is its recency for
    /// other processes.
    private let touchInterval: Int64
    private let state = Lock(State())

    private struct State {
        /// What was written since the files were last looked at, or `nil` before the first time.
        var written: (count: Int, size: Int)?
        var uses = RecentTimes()
        /// The keys of files that could not be removed, and are not there for the rest of the process.
        var hidden: Set<CacheKey> = []
    }

    /// Creates a store in a directory, which is created with the first entry.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else.
    ///   - maximumSize: The maximum size of all files in bytes. Each further process that writes at the same time may exceed
    ///     it by a tenth.
    ///   - maximumCount: The maximum number of files, in the same sense.
    ///   - cipher: Encrypts what is written, or `nil` to store it unencrypted.
    public convenience init(
        directory: URL,
        maximumSize: Int = 256 << 20,
        maximumCount: Int = 200_000,
        cipher: (any CacheCipher)? = nil
    ) {
        self.init(
            directory: directory,
            maximumSize: maximumSize,
            maximumCount: maximumCount,
            cipher: cipher,
            touchInterval: 600_000_000_000
        )
    }

    init(directory: URL, maximumSize: Int, maximumCount: Int, cipher: (any CacheCipher)?, touchInterval: Int64) {
        (self.directory, self.cipher, self.touchInterval) = (directory, cipher, touchInterval)
        (self.maximumSize, self.maximumCount) = (max(0, maximumSize), max(0, maximumCount))
        files = DiskFolder(in: directory.path(percentEncoded: false))
    }

    // MARK: Reading

    /// Reads an entry synchronously.
    ///
    /// - Returns: The entry, or `nil` if there is none.
    /// - Throws: ``CacheMiss/damaged`` if there was one that could not be used.
    public func entry(for key: CacheKey) throws -> CacheEntry? {
        try read(key) { descriptor, changed in
            let now = timespec.now
            let age = now.nanoseconds &- changed
            // It has no effect on a read-only file system, where nothing is evicted either.
            if age > touchInterval || age < 0 { now.set(on: descriptor) }
            return state.withLock { state in
                state.uses.note(key, at: now.nanoseconds)
                return state.hidden.isEmpty || !state.hidden.contains(key)
            }
        }
    }

    private func read(
        _ key: CacheKey,
        isWanted: (_ descriptor: Int32, _ changed: Int64) -> Bool = { _, _ in true }
    ) throws -> CacheEntry? {
        try files.withPath(of: key) { path -> CacheEntry? in
            let descriptor = files.open(path)
            guard descriptor >= 0 || errno == ELOOP else { return nil }
            defer { close(descriptor) }
            var facts = stat()
            // An error of the cipher is damage, too.
            guard fstat(descriptor, &facts) == 0, facts.size <= maximumSize,
                let entry = try? EntryFile.entry(in: descriptor, facts, for: key, cipher: cipher)
            else {
                files.remove(key)
                throw CacheMiss.damaged
            }
            return isWanted(descriptor, facts.changed) ? entry : nil
        }
    }

    /// Makes an entry the most recently used, without reading it.
    public func didUse(_ key: CacheKey) {
        let now = timespec.now.nanoseconds
        state.withLock { $0.uses.note(key, at: now) }
    }

    // MARK: Writing

    /// Writes an entry synchronously, and removes others first if the store or the disk is full.
    ///
    /// - Throws: `POSIXError`, or an error of the cipher; the entry that was stored before may be kept then. `EFBIG`: the
    ///   entry is larger than the store.
    public func store(_ entry: CacheEntry, for key: CacheKey) throws {
        let file = try EntryFile(entry, for: key, cipher: cipher)
        guard file.size <= maximumSize, maximumCount > 0 else { throw POSIXError(.EFBIG) }
        if isScanDue(for: file.size) {
            files.removePreviousFormat()
            evict(
                toCount: maximumCount - max(1, maximumCount / 10),
                size: maximumSize - max(file.size, maximumSize / 10)
            )
        }
        do {
            try files.write(file, for: key)
        } catch let error as POSIXError where error.code == .ENOSPC || error.code == .EDQUOT {
            guard freeDisk(for: file.size) else { throw error }
            try files.write(file, for: key)
        }
        let now = timespec.now.nanoseconds
        state.withLock { state in
            state.uses.note(key, at: now)
            state.hidden.remove(key)
        }
    }

    /// Counts an entry that is about to be written, and returns whether the files have to be looked at before.
    private func isScanDue(for size: Int) -> Bool {
        state.withLock { state in
            if let written = state.written, written.count < maximumCount / 10, written.size < maximumSize / 10 - size {
                state.written = (written.count + 1, written.size + size)
                return false
            }
            state.written = (1, size)
            return true
        }
    }

    /// Removes entries so that as much fits on a full disk, and returns whether any was removed.
    private func freeDisk(for size: Int) -> Bool {
        let used = totals()
        var facts = statvfs()
        // Nothing is removed if even that wouldn't be enough.
        guard used.count > 0, statvfs(files.path, &facts) == 0,
            Double(facts.f_bavail) * Double(facts.f_frsize) + Double(used.size) >= Double(size)
        else { return false }
        evict(size: used.size - max(1, size, used.size / 10))
        return true
    }

    // MARK: Removing

    /// Removes the least recently used entries until their size is at most `limit` bytes.
    public func trim(toBytes limit: Int) throws {
        let failure = evict(toCount: limit <= 0 ? 0 : .max, size: max(0, limit))
        if let failure { throw failure }
    }

    /// Removes the least recently used files, and what writers have left that were killed.
    ///
    /// - Returns: The error of the last file that could not be removed.
    @discardableResult
    private func evict(toCount count: Int = .max, size: Int) -> POSIXError? {
        let (uses, now) = (state.withLock(\.uses), timespec.now.nanoseconds)
        var all: [(used: Int64, size: Int64, key: CacheKey)] = []
        var sum = files.sweep()
        files.visit { key, size, changed in
            let used = max(changed, uses.time(of: key) ?? changed)
            // A time in the future is unknown, because a clock was set back.
            all.append((used &- now > 60_000_000_000 ? 0 : used, size, key))
            sum += size
        }
        guard all.count > count || sum > size else { return nil }
        all.sort { $0.used < $1.used }
        var removed = 0
        while removed < all.count, all.count - removed > count || sum > size {
            sum -= all[removed].size
            removed += 1
        }
        return remove(all[..<removed].map(\.key))
    }

    /// Removes the entry of a key, if there is one.
    ///
    /// - Throws: `POSIXError` if it could not be removed; it is not found any more in this process.
    public func remove(for key: CacheKey) throws {
        if let failure = remove([key]) { throw failure }
    }

    private func remove(_ keys: [CacheKey]) -> POSIXError? {
        var failure: POSIXError?
        for key in keys where !files.remove(key) {
            failure = .last
            state.withLock { _ = $0.hidden.insert(key) }
        }
        return failure
    }

    /// Visits all entries, and removes those for which the closure returns `true`.
    ///
    /// - Throws: `POSIXError` if one could not be removed; it is not found any more in this process.
    public func removeAll(
        among keys: @Sendable (CacheKey) -> Bool = { _ in true },
        where isMeant: @Sendable (StoredEntry) -> Bool
    ) throws {
        var failure: POSIXError?
        for shard in 0..<256 {
            var found: [(key: CacheKey, size: Int64, changed: Int64)] = []
            files.visit(shard...shard, among: keys) { found.append(($0, $1, $2)) }
            let meant = found.compactMap { key, size, changed -> CacheKey? in
                // A damaged entry has been removed.
                guard let entry = try? read(key) else { return nil }
                let date = Date(timeIntervalSince1970: Double(changed) / 1e9)
                let stored = StoredEntry(key: key, entry: entry, byteCount: Int(clamping: size), lastUsed: date)
                return isMeant(stored) ? key : nil
            }
            failure = remove(meant) ?? failure
        }
        if let failure { throw failure }
    }

    /// Removes all entries of the URL of a key, which are in one folder.
    ///
    /// - Throws: `POSIXError` if one could not be removed; it is not found any more in this process.
    public func removeAll(ofURLOf key: CacheKey) throws {
        var found: [CacheKey] = []
        files.visit(Int(key.shard)...Int(key.shard)) { other, _, _ in
            if other.hasSameURL(as: key) { found.append(other) }
        }
        if let failure = remove(found) { throw failure }
    }

    /// Counts all files, which takes about 2 µs for each entry.
    public func totals() -> (count: Int, size: Int) {
        var totals = (count: 0, size: Int64(0))
        files.visit { _, size, _ in totals = (totals.count + 1, totals.size + size) }
        return (totals.count, Int(clamping: totals.size))
    }
}
