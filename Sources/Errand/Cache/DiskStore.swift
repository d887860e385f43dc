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
/// misses.
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
    let state = Lock(State())

    struct State {
        var isSwept = false
        /// Whether damage was removed, so that the totals include what is no longer there.
        var isDamaged = false
        var uses = RecentUses()
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

    init(directory: URL, limit: CacheTotals, cipher: (any CacheCipher)?, touchInterval: Int64) {
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
            let reader = EntryReader(descriptor: descriptor, key: key, cipher: cipher)
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
    ///   entry is larger than the store. `ETIMEDOUT`: another process has been writing for 10 seconds.
    public func store(_ entry: CacheEntry, for key: CacheKey) throws {
        let writer = EntryWriter(files: files)
        let content = try EntryWriter.Content(entry, for: key, cipher: cipher)
        guard content.size <= limit.size, limit.count > 0 else { throw POSIXError(.EFBIG) }
        var totals = try files.lockedTotals()
        sweepOnce(&totals)
        try makeRoom(for: content.size, of: key, in: &totals)
        while true {
            do {
                try writer.write(content, for: key, counting: &totals)
                break
            } catch let error as POSIXError where error.code == .ENOSPC || error.code == .EDQUOT {
                guard try freeDisk(for: content.size, in: &totals) else { throw error }
            }
        }
        didUse(key)
    }

    /// Removes the entry of a key, if there is one.
    public func remove(for key: CacheKey) { remove([key]) }

    func remove(_ keys: [CacheKey]) {
        guard !keys.isEmpty else { return }
        var totals = files.totalsIfPossible()
        for key in keys {
            let size = files.withPath(of: key) { $0.size() }
            if let size, files.remove(key) { totals.release(size) }
        }
    }

    /// Removes what writers left that were killed, so that the first write does not have to.
    public func prepare() {
        // What fails here fails again, and is reported, when an entry is written.
        guard var totals = try? DiskTotals.locked(files.totals) else { return }
        sweepOnce(&totals)
    }

    private func sweepOnce(_ totals: inout DiskTotals) {
        let isFirst = state.withLock { state in
            defer { state.isSwept = true }
            return !state.isSwept
        }
        guard isFirst else { return }
        let removed = files.sweep().removed
        if removed.count > 0 { totals.release(removed) }
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
        var totals = files.totalsIfPossible()
        return count(in: &totals)
    }
}
