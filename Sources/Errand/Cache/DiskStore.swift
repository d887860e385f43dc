public import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A store on disk with one self-contained file for each entry, which any number of processes may share.
///
/// A file is in one of 256 folders, named by its key. It is written to a temporary file and renamed, so that a reader
/// sees all of it or nothing, and its checksum covers every byte: a damaged, truncated or foreign file is a miss, and
/// removed. There is no index: opening costs nothing per entry, and a lookup is one `open` and one or two `read`. Files
/// have mode 0600 in folders of mode 0700. Nothing is synced to the medium: after a power failure some entries are
/// misses. The file system has to support `flock`; on one that doesn't, nothing is stored.
///
/// All stores of a directory, in all processes, have one total, which each of them keeps within its own limits: what is
/// to be written counts before it is written, and the least recently used entries are removed first. Recency is exact
/// for lookups in this process, and to about ten minutes for those in others.
public final class DiskStore: CacheStore {
    /// The directory that contains the files.
    public let directory: URL

    let files: DiskFolder
    let limit: CacheTotals
    let cipher: (any CacheCipher)?
    /// The interval, in nanoseconds, after which a read renews a file's modification time, which is its recency for
    /// other processes.
    let touchInterval: Int64
    /// The number of milliseconds that a writer waits for others.
    let patience: Int
    let state = Lock(State())

    struct State {
        var isSwept = false
        /// Whether damage was removed, so that the totals include what is no longer there.
        var isDamaged = false
        var uses = RecentTimes()
        /// The time since which others have had the lock of the totals whenever it was tried, or `nil` if it was free.
        var lockedOutSince: ContinuousClock.Instant?
    }

    /// Creates a store in a directory, which is created with the first entry.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else.
    ///   - maximumSize: The maximum size of all files in bytes, temporary ones included. It is never exceeded.
    ///   - maximumCount: The maximum number of files.
    ///   - cipher: Encrypts what is written, or `nil` to store it unencrypted.
    public convenience init(
        directory: URL,
        maximumSize: Int = 256 << 20,
        maximumCount: Int = 200_000,
        cipher: (any CacheCipher)? = nil
    ) {
        let limit = CacheTotals(count: max(0, maximumCount), size: max(0, maximumSize))
        self.init(directory: directory, limit: limit, cipher: cipher, touchInterval: 600_000_000_000)
    }

    init(
        directory: URL,
        limit: CacheTotals,
        cipher: (any CacheCipher)?,
        touchInterval: Int64,
        patience: Int = DiskTotals.patience
    ) {
        self.patience = patience
        self.directory = directory
        self.limit = limit
        self.cipher = cipher
        self.touchInterval = touchInterval
        files = DiskFolder(path: directory.path(percentEncoded: false))
    }

    /// Reads an entry synchronously.
    ///
    /// - Returns: The entry, or `nil` if there is none.
    /// - Throws: ``CacheMiss/damaged`` if there was one that could not be used.
    public func entry(for key: CacheKey) throws -> CacheEntry? { try read(key, touching: true) }

    func read(_ key: CacheKey, touching: Bool) throws -> CacheEntry? {
        try files.withPath(of: key) { path -> CacheEntry? in
            let descriptor = path.descriptorForReading()
            guard descriptor >= 0 else {
                guard errno == ELOOP else { return nil }
                discard(key)
                throw CacheMiss.damaged
            }
            defer { close(descriptor) }
            let reader = EntryReader(descriptor: descriptor, key: key, cipher: cipher, maximumSize: limit.size)
            // An error of the cipher is damage, too.
            guard let (entry, changed) = try? reader.entry() else {
                // Another process may have replaced the file in the meantime.
                if path.leads(to: descriptor) { discard(key) }
                throw CacheMiss.damaged
            }
            if touching { didRead(key, descriptor, changed) }
            return entry
        }
    }

    private func discard(_ key: CacheKey) {
        // The size of a damaged file may be any: it remains in the totals, and the next count omits it.
        if files.remove(key) { state.withLock { $0.isDamaged = true } }
    }

    private func didRead(_ key: CacheKey, _ descriptor: Int32, _ changed: Int64) {
        let now = timespec.now
        let age = now.nanoseconds &- changed
        // It has no effect on a read-only file system, where nothing is evicted either.
        if age > touchInterval || age < 0 { now.set(on: descriptor) }
        state.withLock { $0.uses.note(key, at: now.nanoseconds) }
    }

    /// Makes an entry the most recently used, without reading it.
    public func didUse(_ key: CacheKey) {
        let now = timespec.now.nanoseconds
        state.withLock { $0.uses.note(key, at: now) }
    }

    /// Writes an entry synchronously, and removes others first if the store or the disk is full.
    ///
    /// - Throws: `POSIXError`, or an error of the cipher; the entry that was stored before may be kept then. `EFBIG`: the
    ///   entry is larger than the store. `ETIMEDOUT`: another process has been writing since 10 seconds ago or earlier.
    public func store(_ entry: CacheEntry, for key: CacheKey) throws {
        _ = try store(entry, for: key, unless: { false })
    }

    /// Writes an entry like ``store(_:for:)``, unless the file of the key has one that was requested later.
    ///
    /// The file is read only if it was changed since the entry was requested.
    public func storeIfLatest(_ entry: CacheEntry, for key: CacheKey, at now: Date) throws -> Bool {
        try store(entry, for: key) { hasLater(than: entry, for: key, at: now) }
    }

    private func hasLater(than entry: CacheEntry, for key: CacheKey, at now: Date) -> Bool {
        files.withPath(of: key) { path in
            // The clocks of file systems are up to two seconds coarse.
            guard let facts = path.facts(), Double(facts.changed) / 1e9 + 2 > entry.requested.timeIntervalSince1970
            else { return false }
            let descriptor = path.descriptorForReading()
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            let reader = EntryReader(descriptor: descriptor, key: key, cipher: cipher, maximumSize: limit.size)
            guard let requested = reader.requested() else { return false }
            return requested > entry.requested && requested <= now
        }
    }

    private func store(_ entry: CacheEntry, for key: CacheKey, unless isObsolete: () -> Bool) throws -> Bool {
        let writer = EntryWriter(files: files)
        let content = try EntryWriter.Content(entry, for: key, cipher: cipher)
        guard content.size <= limit.size, limit.count > 0 else { throw POSIXError(.EFBIG) }
        var totals = try waitingOnce(upTo: patience, files.lockedTotals(upTo:))
        sweepOnce()
        if isObsolete() { return false }
        try makeRoom(for: content.size, of: key, in: &totals)
        while true {
            do {
                try writer.write(content, for: key, counting: &totals, unless: isObsolete)
                break
            } catch is EntryWriter.Obsolete {
                return false
            } catch let error as POSIXError where error.code == .ENOSPC || error.code == .EDQUOT {
                guard try freeDisk(for: content.size, in: &totals) else { throw error }
            }
        }
        didUse(key)
        return true
    }

    /// Removes the entry of a key, if there is one.
    public func remove(for key: CacheKey) { remove([key]) }

    func remove(_ keys: [CacheKey]) {
        guard !keys.isEmpty else { return }
        var totals = totalsIfPossible()
        for key in keys {
            let size = files.withPath(of: key) { $0.writtenSize(for: key) }
            if let size, files.remove(key) { totals.release(size) }
        }
    }

    /// Removes what writers left that were killed, so that the first write does not have to.
    public func prepare() {
        // What fails here fails again, and is reported, when an entry is written.
        guard let totals = try? lockedTotals(upTo: patience) else { return }
        sweepOnce()
        _ = consume totals
    }

    /// Sweeps with the lock.
    ///
    /// The totals keep what is removed until the next count, because it may not be in them.
    private func sweepOnce() {
        let isFirst = state.withLock { state in
            defer { state.isSwept = true }
            return !state.isSwept
        }
        if isFirst { files.sweep(isLocked: true) }
    }

    /// Locks the totals if that is possible soon; otherwise they keep what is removed until the next count.
    func totalsIfPossible() -> DiskTotals { (try? lockedTotals(upTo: min(1_000, patience))) ?? .unavailable }

    private func lockedTotals(upTo limit: Int) throws -> DiskTotals {
        try waitingOnce(upTo: limit) { try DiskTotals.locked(files.totals, upTo: $0) }
    }

    /// Locks the totals; while another process keeps the lock, such as one that was stopped, all calls together wait for it
    /// once.
    private func waitingOnce(upTo limit: Int, _ lock: (_ limit: Int) throws -> DiskTotals) throws -> DiskTotals {
        let (since, now) = (state.withLock(\.lockedOutSince), ContinuousClock.now)
        let waited = since.map { Int(($0.duration(to: now) / .milliseconds(1)).rounded(.down)) } ?? 0
        do {
            let totals = try lock(max(0, limit - waited))
            if since != nil { state.withLock { $0.lockedOutSince = nil } }
            return totals
        } catch let error as POSIXError where error.code == .ETIMEDOUT {
            state.withLock { $0.lockedOutSince = $0.lockedOutSince ?? now }
            throw error
        }
    }

    /// Returns the number of files, and their size in bytes.
    ///
    /// They are known from a file of the directory. They are counted, which takes about 2 µs for each entry, when the
    /// directory is first used after the system was started, and after damage.
    public func totals() -> CacheTotals {
        let isDamaged = state.withLock { state in
            defer { state.isDamaged = false }
            return state.isDamaged
        }
        if !isDamaged, let known = DiskTotals.current(files.totals) { return known }
        var totals = totalsIfPossible()
        return count(in: &totals)
    }
}
