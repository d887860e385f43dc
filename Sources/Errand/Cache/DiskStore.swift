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
public final class DiskStore: CacheStore {
    /// The directory that contains the files.
    public let directory: URL

    let files: DiskFolder
    let limit: CacheTotals
    let cipher: (any CacheCipher)?
    /// The interval, in nanoseconds, after which a read renews a file's modification time, which is its recency.
    let touchInterval: Int64
    let state = Lock(State())

    struct State {
        /// The totals, or `nil` before a count.
        var totals: CacheTotals?
        var storesSinceScan = 0
        /// The folder at which the next eviction begins.
        var nextShard = Int.random(in: 0..<256)
        var isSwept = false
    }

    /// Creates a store in a directory, which is created with the first entry.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else.
    ///   - maximumSize: The maximum size of all files in bytes; beyond that the least recently used are removed.
    ///   - maximumCount: The maximum number of files.
    ///   - cipher: Encrypts what is written, or `nil` to store it unencrypted.
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

    /// Reads an entry synchronously.
    ///
    /// - Returns: The entry, or `nil` if there is none.
    /// - Throws: ``CacheMiss/damaged`` if there was one that could not be used.
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

    /// Writes an entry synchronously, and removes others if the store is full.
    ///
    /// - Throws: `POSIXError`, or an error of the cipher; the entry that was stored before is kept then.
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

    /// Removes the entry of a key, if there is one.
    public func remove(for key: CacheKey) { discard(key) }

    /// Counts the entries, so that the first eviction doesn't have to.
    public func prepare() {
        sweepOnce()
        _ = totals()
    }

    /// Removes a file of any kind.
    @discardableResult
    func discard(_ key: CacheKey) -> Bool {
        files.withPath(of: key) { path in
            let size = path.size()
            if path.remove() {
                if let size { didRemove(size) }
                return true
            }
            guard errno == EISDIR || errno == EPERM || errno == ENOTEMPTY else { return false }
            // A directory in place of a file. If it cannot be removed, it remains a miss.
            return (try? FileManager.default.removeItem(atPath: path.text)) != nil
        }
    }

    func didRemove(_ size: Int) {
        state.withLock { state in
            guard let totals = state.totals else { return }
            state.totals = CacheTotals(count: max(0, totals.count - 1), size: max(0, totals.size - size))
        }
    }

    /// Removes the temporary files of writers whose process ended while writing: at most one file each.
    func sweepOnce() {
        let isFirst = state.withLock { state in
            defer { state.isSwept = true }
            return !state.isSwept
        }
        if isFirst { files.sweep() }
    }
}
