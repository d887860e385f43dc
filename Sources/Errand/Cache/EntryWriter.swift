internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Writes one file: to a temporary file, which is locked, and renamed when it is complete.
struct EntryWriter {
    let files: DiskFolder
    let cipher: (any CacheCipher)?

    /// The result of a write.
    struct Written {
        let size: Int
        /// The size of the file that was replaced, or `nil` if there was none.
        let replaced: Int?
    }

    /// A name that is unique among all writers of all processes.
    private static let name = String(UInt64.random(in: .min ... .max), radix: 16)
    private static let count = Lock(0)

    /// Writes an entry.
    ///
    /// - Throws: `POSIXError`; the file that was there before is kept.
    func write(_ entry: CacheEntry, for key: CacheKey, limit: Int) throws -> Written {
        if let cipher {
            let sealed = try cipher.seal(entry.unsealed, for: key)
            return try write([], sealed, isSealed: true, for: key, limit: limit)
        }
        return try write(entry.metadata, entry.body, isSealed: false, for: key, limit: limit)
    }

    private func write(
        _ metadata: [UInt8],
        _ body: Data,
        isSealed: Bool,
        for key: CacheKey,
        limit: Int
    ) throws -> Written {
        let size = EntryFile.headerSize + metadata.count + body.count
        guard metadata.count <= EntryFile.maximumMetadataSize, size <= limit else { throw POSIXError(.EFBIG) }
        return try metadata.withUnsafeBytes { metadata in
            try body.withUnsafeBytes { body in
                var head = EntryFile.header(for: key, metadata: metadata, body: body, isSealed: isSealed)
                head.append(contentsOf: metadata)
                return try files.withPath(of: key) { path in
                    Written(size: size, replaced: try write(head, body, to: path, for: key))
                }
            }
        }
    }

    /// Returns the size of the file that was replaced.
    @inline(never)
    private func write(
        _ head: [UInt8],
        _ body: UnsafeRawBufferPointer,
        to path: FilePath,
        for key: CacheKey
    ) throws -> Int? {
        let number = Self.count.withLock { count in
            count &+= 1
            return count
        }
        return try "\(files.temporary)/\(Self.name)-\(getpid())-\(number)".withCString { start in
            let temporary = FilePath(start: start)
            let descriptor = try create(temporary, for: key)
            defer { close(descriptor) }
            do {
                // Held until the file is renamed: a file that is not locked has no writer.
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw failure() }
                try head.withUnsafeBytes { try write($0, body, to: descriptor) }
                timespec.now.set(on: descriptor)
                let replaced = path.size()
                try move(temporary, to: path, for: key)
                return replaced
            } catch {
                _ = temporary.remove()
                throw error
            }
        }
    }

    private func create(_ path: FilePath, for key: CacheKey) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var descriptor = path.descriptor(flags, mode: 0o600)
        if descriptor < 0, errno == ENOENT {
            files.makeFolders(for: key)
            descriptor = path.descriptor(flags, mode: 0o600)
        }
        guard descriptor >= 0 else { throw failure() }
        return descriptor
    }

    private func move(_ old: FilePath, to new: FilePath, for key: CacheKey) throws {
        if rename(old.start, new.start) == 0 { return }
        switch errno {
        case ENOENT: files.makeFolders(for: key)
        // A directory is in its place, which is damage.
        case EISDIR, ENOTEMPTY, EEXIST: try? FileManager.default.removeItem(atPath: new.text)
        default: throw failure()
        }
        guard rename(old.start, new.start) == 0 else { throw failure() }
    }

    private func write(_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, to descriptor: Int32) throws {
        var done = 0
        let size = head.count + body.count
        while done < size {
            var parts = [
                iovec(part: head, from: min(done, head.count)), iovec(part: body, from: max(0, done - head.count)),
            ]
            let count = writev(descriptor, &parts, 2)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            done += count
        }
    }

    private func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}

extension iovec {
    fileprivate init(part: UnsafeRawBufferPointer, from place: Int) {
        let rest = UnsafeRawBufferPointer(rebasing: part[place...])
        self.init(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: numericCast(rest.count))
    }
}
