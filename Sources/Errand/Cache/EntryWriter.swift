internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Writes one file: to a temporary file, which is renamed when it is complete.
///
/// A small file is written with the lock of ``DiskTotals``. While a larger one is written, others may write, too; its
/// temporary file has its final size from the beginning, so that it counts, and is locked, so that it is not swept.
struct EntryWriter {
    let files: DiskFolder

    /// The size up to which a file is written with the lock.
    private static let lockedSize = 1 << 20
    /// A name that is unique among all writers of all processes.
    private static let name = String(UInt64.random(in: .min ... .max), radix: 16)
    private static let count = Lock(0)

    /// The bytes of a file: its header and metadata, and its body, which is not copied.
    struct Content {
        private(set) var head: [UInt8]
        let body: Data
        var size: Int { head.count + body.count }

        /// - Throws: An error of the cipher, or `POSIXError`: `EFBIG` if the metadata is too large.
        init(_ entry: CacheEntry, for key: CacheKey, cipher: (any CacheCipher)?) throws {
            let metadata = cipher == nil ? entry.metadata : []
            let body = try cipher?.seal(entry.unsealed, for: key) ?? entry.body
            guard metadata.count <= EntryFile.maximumMetadataSize else { throw POSIXError(.EFBIG) }
            head = metadata.withUnsafeBytes { metadata in
                body.withUnsafeBytes { body in
                    EntryFile.header(for: key, metadata: metadata, body: body, isSealed: cipher != nil)
                }
            }
            head.append(contentsOf: metadata)
            self.body = body
        }
    }

    /// The error of a write that is not needed any more.
    struct Obsolete: Error {}

    /// Writes an entry.
    ///
    /// - Parameters:
    ///   - content: The bytes.
    ///   - key: The key of the entry.
    ///   - totals: The totals, which are locked.
    ///   - meanwhile: Called while a large file is written, without the lock; for tests.
    ///   - isObsolete: Returns whether a large file, whose key others could write meanwhile, is not needed any more.
    /// - Throws: `POSIXError` or ``Obsolete``; the file that was there before is kept. `ECANCELED`: all entries were removed
    ///   meanwhile.
    func write(
        _ content: Content,
        for key: CacheKey,
        counting totals: inout DiskTotals,
        meanwhile: () throws -> Void = {},
        unless isObsolete: () -> Bool = { false }
    ) throws {
        // Not after it is written: a process that ends in between would leave a file that doesn't count.
        try totals.reserve(content.size)
        do {
            let replaced = try files.withPath(of: key) {
                try write(content, to: $0, for: key, counting: &totals, isObsolete, meanwhile)
            }
            if let replaced { totals.release(replaced) }
        } catch {
            totals.release(content.size)
            throw error
        }
    }

    /// Returns the size of the file that was replaced, or `nil` if there was none; the size is `nil` if it is unknown.
    @inline(never)
    private func write(
        _ content: Content,
        to path: FilePath,
        for key: CacheKey,
        counting totals: inout DiskTotals,
        _ isObsolete: () -> Bool,
        _ meanwhile: () throws -> Void
    ) throws -> Int?? {
        let number = Self.count.withLock { count in
            count &+= 1
            return count
        }
        return try "\(files.temporary)/\(Self.name)-\(getpid())-\(number)".withCString { start in
            let temporary = FilePath(start: start)
            let descriptor = try create(temporary, for: key)
            defer { close(descriptor) }
            do {
                try fill(descriptor, with: content, counting: &totals, isObsolete, meanwhile)
                let replaced = size(of: path, for: key, replacedBy: content.size)
                try move(temporary, to: path, for: key)
                return replaced
            } catch {
                _ = temporary.remove()
                throw error
            }
        }
    }

    /// Returns the size that the totals have of a file that is replaced, or `nil` if there is none; the size is `nil` if it
    /// is unknown.
    private func size(of path: FilePath, for key: CacheKey, replacedBy added: Int) -> Int?? {
        guard let size = path.facts()?.size else { return nil }
        // To subtract what has just been added makes the totals no smaller than they were, even if the file was damaged.
        return size <= added ? .some(size) : path.writtenSize(for: key)
    }

    private func fill(
        _ descriptor: Int32,
        with content: Content,
        counting totals: inout DiskTotals,
        _ isObsolete: () -> Bool,
        _ meanwhile: () throws -> Void
    ) throws {
        try content.head.withUnsafeBytes { head in
            try content.body.withUnsafeBytes { body in
                guard content.size > Self.lockedSize else { return try write(head, body, to: descriptor) }
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, ftruncate(descriptor, numericCast(content.size)) == 0
                else { throw POSIXError.last }
                let clearings = totals.clearings
                try totals.whileUnlocked {
                    try write(head, body, to: descriptor)
                    try meanwhile()
                }
                guard totals.clearings == clearings else { throw POSIXError(.ECANCELED) }
                if isObsolete() { throw Obsolete() }
            }
        }
    }

    private func create(_ path: FilePath, for key: CacheKey) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var descriptor = path.descriptor(flags, mode: 0o600)
        if descriptor < 0, errno == ENOENT {
            try files.makeFolders(for: key)
            descriptor = path.descriptor(flags, mode: 0o600)
        }
        guard descriptor >= 0 else { throw POSIXError.last }
        return descriptor
    }

    private func move(_ old: FilePath, to new: FilePath, for key: CacheKey) throws {
        if rename(old.start, new.start) == 0 { return }
        switch errno {
        case ENOENT: try files.makeFolders(for: key)
        // A directory is in its place, which is damage.
        case EISDIR, ENOTEMPTY, EEXIST: try? FileManager.default.removeItem(atPath: new.text)
        default: throw POSIXError.last
        }
        guard rename(old.start, new.start) == 0 else { throw POSIXError.last }
    }

    private func write(_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, to descriptor: Int32) throws {
        var done = 0
        let size = head.count + body.count
        while done < size {
            // In steps, because some systems limit the size of one write.
            let rest = UnsafeRawBufferPointer(rebasing: body.dropFirst(max(0, done - head.count)).prefix(8 << 20))
            var parts = [iovec(part: head, from: min(done, head.count)), iovec(part: rest, from: 0)]
            let count = writev(descriptor, &parts, 2)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw POSIXError.last }
            done += count
        }
    }
}

extension iovec {
    fileprivate init(part: UnsafeRawBufferPointer, from place: Int) {
        let rest = UnsafeRawBufferPointer(rebasing: part[place...])
        self.init(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: numericCast(rest.count))
    }
}
