public import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Entries on disk, one self-contained file each, which any number of processes may share.
///
/// A file lies in one of 256 folders under the name of its key. It is written aside and renamed, so that a reader sees all
/// of it or nothing, and its checksum covers every byte: what is damaged, cut or from elsewhere is a miss, and removed.
/// Nothing is indexed: opening costs nothing per entry, and a look-up is one `open` and one or two `read`. Files have
/// mode 0600 in folders of mode 0700. Nothing is synced to the medium: after a power failure some entries are misses.
public final class DiskStore: CacheStore {
    /// Where the files are.
    public let directory: URL

    let files: DiskFolder
    let limit: CacheTotals
    let cipher: (any CacheCipher)?
    /// Recency is the time of a file's last change, which a read renews when it is older than this, in nanoseconds.
    let touchInterval: Int64
    let state = Lock(State())

    struct State {
        /// `nil` until a scan.
        var totals: CacheTotals?
        var storesSinceScan = 0
        /// The folder at which the next eviction begins.
        var nextShard = Int.random(in: 0..<256)
        var isSwept = false
    }

    /// A store in a directory, which is made with the first entry.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else.
    ///   - maximumSize: The most bytes of all files; beyond that the least recently used go.
    ///   - maximumCount: The most files.
    ///   - cipher: Seals what is written; `nil` writes it as it is.
    public convenience init(
        directory: URL,
        maximumSize: Int = 256 << 20,
        maximumCount: Int = 200_000,
        cipher: (any CacheCipher)? = nil
    ) {
        let limit = CacheTotals(count: max(0, maximumCount), size: max(0, maximumSize))
        self.init(directory: directory, limit: limit, cipher: cipher, touchInterval: 60_000_000_000)
    }

    init(directory: URL, limit: CacheTotals, cipher: (any CacheCipher)?, touchInterval: Int64) {
        self.directory = directory
        self.limit = limit
        self.cipher = cipher
        self.touchInterval = touchInterval
        files = DiskFolder(path: directory.path(percentEncoded: false))
    }

    /// Reads an entry, here and now.
    ///
    /// - Returns: The entry, or `nil` when there is none.
    /// - Throws: ``CacheMiss/damaged`` when there was one that could not be used.
    public func entry(for key: CacheKey) throws -> CacheEntry? { try read(key, touching: true) }

    func read(_ key: CacheKey, touching: Bool) throws -> CacheEntry? {
        do {
            return try files.withPath(of: key) { path -> CacheEntry? in
                let descriptor = path.descriptor(O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                guard descriptor >= 0 else {
                    if errno == ELOOP { throw CacheMiss.damaged }
                    return nil
                }
                defer { close(descriptor) }
                let reader = EntryReader(descriptor: descriptor, key: key, cipher: cipher)
                guard let entry = try reader.entry(touching: touching ? touchInterval : .max) else {
                    throw CacheMiss.damaged
                }
                return entry
            }
        } catch {
            discard(key)
            throw CacheMiss.damaged
        }
    }

    /// Writes an entry, here and now, and removes others where the store is full.
    ///
    /// - Throws: `POSIXError`, or what the cipher throws; what was stored before is still there then.
    public func store(_ entry: CacheEntry, for key: CacheKey) throws {
        sweepOnce()
        let written = try EntryWriter(files: files, cipher: cipher).write(entry, for: key, limit: limit.size)
        let isFull = state.withLock { state -> Bool in
            state.storesSinceScan += 1
            state.totals?.size += written.size - (written.replaced ?? 0)
            if written.replaced == nil { state.totals?.count += 1 }
            return state.totals?.exceeds(limit) ?? (state.storesSinceScan >= 256)
        }
        if isFull { evict(to: limit) }
    }

    /// Removes the entry of a key; not an error when there is none.
    public func remove(for key: CacheKey) { discard(key) }

    /// Counts the entries, so that the first eviction need not.
    public func prepare() {
        sweepOnce()
        _ = totals()
    }

    /// Removes a file, whatever it is.
    @discardableResult
    func discard(_ key: CacheKey) -> Bool {
        files.withPath(of: key) { path in
            let size = path.size()
            if path.remove() {
                if let size { didRemove(size) }
                return true
            }
            guard errno == EISDIR || errno == EPERM || errno == ENOTEMPTY else { return false }
            // A directory in place of a file. Where it cannot be removed, it stays a miss.
            return (try? FileManager.default.removeItem(atPath: path.text)) != nil
        }
    }

    func didRemove(_ size: Int) {
        state.withLock { state in
            guard let totals = state.totals else { return }
            state.totals = CacheTotals(count: max(0, totals.count - 1), size: max(0, totals.size - size))
        }
    }

    /// Removes what writers left that died in the middle: at most one file each.
    func sweepOnce() {
        let isFirst = state.withLock { state in
            defer { state.isSwept = true }
            return !state.isSwept
        }
        if isFirst { files.sweep() }
    }
}
