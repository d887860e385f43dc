internal import Foundation

/// The folders of a ``DiskStore``, in one that is named by the version of the format: `00` to `ff`, and `tmp` in the same file
/// system for files that are being written.
struct DiskFolder: Sendable {
    let path: String
    private let prefix: [UInt8]

    /// The age, in nanoseconds, from which on a temporary file without a lock was left by a writer that was killed.
    ///
    /// A writer creates its file before it can lock it.
    private static let sweptAge: UInt64 = 10_000_000_000
    /// A name that is unique among all writers of all processes.
    private static let name = String(UInt64.random(in: .min ... .max), radix: 16)
    private static let count = Lock(0)

    /// The folders in a directory.
    init(in directory: String) {
        path = (directory.utf8.last == UInt8(ascii: "/") ? directory : directory + "/") + "v2"
        prefix = Array(path.utf8)
    }

    private var temporary: String { path + "/tmp" }

    private static func name(ofShard number: Int) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }

    /// Calls a closure with the path of an entry, on the stack: creating a `String` costs as much as the lookup.
    func withPath<Value>(of key: CacheKey, _ body: (UnsafePointer<CChar>) throws -> Value) rethrows -> Value {
        try withUnsafeTemporaryAllocation(byteCount: prefix.count + 69, alignment: 1) { buffer in
            prefix.withUnsafeBytes { buffer.copyMemory(from: $0) }
            let name = UnsafeMutableRawBufferPointer(rebasing: buffer[(prefix.count + 4)...])
            key.write(into: name)
            name[64] = 0
            buffer[prefix.count] = UInt8(ascii: "/")
            buffer[prefix.count + 1] = name[0]
            buffer[prefix.count + 2] = name[1]
            buffer[prefix.count + 3] = UInt8(ascii: "/")
            return try buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { preconditionFailure("a buffer of 69 bytes has an address") }
                return try body(start)
            }
        }
    }

    // MARK: Folders

    /// Creates the folders that writing an entry needs.
    ///
    /// - Throws: `POSIXError`.
    private func makeFolders(for key: CacheKey) throws {
        try makeFolder()
        for folder in [temporary, path + "/" + Self.name(ofShard: Int(key.shard))] {
            if mkdir(folder, 0o700) != 0, errno != EEXIST { throw POSIXError.last }
        }
    }

    /// Creates the folder; on Apple platforms, it is excluded from backups.
    func makeFolder() throws {
        #if canImport(Darwin)
        let isNew = access(path, F_OK) != 0
        #endif
        try Self.makeFolder(path[...])
        #if canImport(Darwin)
        guard isNew else { return }
        var url = URL(filePath: path)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        // A cache that is backed up all the same is only a waste.
        try? url.setResourceValues(values)
        #endif
    }

    private static func makeFolder(_ path: Substring) throws {
        if mkdir(String(path), 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let end = path.dropLast().lastIndex(of: "/"), end > path.startIndex else {
            throw POSIXError.last
        }
        try makeFolder(path[..<end])
        if mkdir(String(path), 0o700) != 0, errno != EEXIST { throw POSIXError.last }
    }

    /// Removes what the previous version of the format has left beside the folder.
    func removePreviousFormat() {
        let directory = path.dropLast(2)
        guard access(directory + "tmp", F_OK) == 0 else { return }
        for name in (0..<256).map(Self.name(ofShard:)) + ["totals", "tmp"] {
            // What is not there, or cannot be removed, is no concern of the cache.
            try? FileManager.default.removeItem(atPath: directory + name)
        }
    }

    // MARK: Files

    /// Opens the file at a path for reading, and returns its descriptor, or a number below 0 if that fails; links are not
    /// followed, and a pipe is not waited for.
    func open(_ path: UnsafePointer<CChar>) -> Int32 {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        #if canImport(Darwin)
        return Darwin.open(path, flags)
        #else
        // Otherwise the first read of a file writes its time of access. Only the owner of the file may ask for this.
        let withoutTime: Int32 = 0o1000000  // O_NOATIME
        let descriptor = Foundation.open(path, flags | withoutTime)
        return descriptor < 0 && errno == EPERM ? Foundation.open(path, flags) : descriptor
        #endif
    }

    /// Writes a file to a temporary one, which is locked and renamed when it is complete.
    ///
    /// - Throws: `POSIXError`; the file that was there before is kept.
    @inline(never)
    func write(_ file: EntryFile, for key: CacheKey) throws {
        let number = Self.count.withLock { count in
            count &+= 1
            return count
        }
        let temporary = "\(temporary)/\(Self.name)-\(getpid())-\(number)"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var descriptor = Foundation.open(temporary, flags, 0o600)
        if descriptor < 0, errno == ENOENT {
            try makeFolders(for: key)
            descriptor = Foundation.open(temporary, flags, 0o600)
        }
        guard descriptor >= 0 else { throw POSIXError.last }
        defer { close(descriptor) }
        do {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw POSIXError.last }
            try file.write(to: descriptor)
            try withPath(of: key) { try move(temporary, to: $0, for: key) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func move(_ old: String, to new: UnsafePointer<CChar>, for key: CacheKey) throws {
        if rename(old, new) == 0 { return }
        switch errno {
        case ENOENT: try makeFolders(for: key)
        // A directory is in its place, which is damage.
        case EISDIR, ENOTEMPTY, EEXIST: try? FileManager.default.removeItem(atPath: String(cString: new))
        default: throw POSIXError.last
        }
        guard rename(old, new) == 0 else { throw POSIXError.last }
    }

    /// Removes the file of a key, of any kind.
    ///
    /// - Returns: Whether there is none any more.
    @discardableResult
    func remove(_ key: CacheKey) -> Bool {
        withPath(of: key) { path in
            if unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR { return true }
            guard errno == EISDIR || errno == EPERM || errno == ENOTEMPTY else { return false }
            // A directory in place of a file.
            return (try? FileManager.default.removeItem(atPath: String(cString: path))) != nil
        }
    }

    // MARK: All files

    /// Visits the files of some folders whose names are keys; a missing folder has none.
    ///
    /// - Parameters:
    ///   - shards: The numbers of the folders.
    ///   - keys: Returns whether the size and the time of a file are read, which costs more than its name.
    ///   - body: Called with the key, the size and the time of each of these files.
    func visit(
        _ shards: ClosedRange<Int> = 0...255,
        among keys: (CacheKey) -> Bool = { _ in true },
        _ body: (_ key: CacheKey, _ size: Int64, _ changed: Int64) -> Void
    ) {
        for shard in shards {
            Self.visit(path + "/" + Self.name(ofShard: shard)) { name, facts in
                guard strlen(name) == 64,
                    let key = CacheKey(hexadecimal: UnsafeRawBufferPointer(start: name, count: 64)), keys(key),
                    let facts = facts()
                else { return }
                body(key, facts.size, facts.changed)
            }
        }
    }

    /// Removes the temporary files of writers that no longer exist.
    ///
    /// - Returns: The size of the temporary files that remain.
    func sweep() -> Int64 {
        var size: Int64 = 0
        let now = timespec.now.nanoseconds
        Self.visit(temporary) { name, facts in
            guard let facts = facts(), facts.st_mode & S_IFMT == S_IFREG else { return }
            let path = temporary + "/" + String(cString: name)
            if (now &- facts.changed).magnitude > Self.sweptAge, Self.isUnlocked(path), unlink(path) == 0 { return }
            size += facts.size
        }
        return size
    }

    private static func isUnlocked(_ path: String) -> Bool {
        let descriptor = Foundation.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        return descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    private static func visit(
        _ path: String,
        _ body: (_ name: UnsafePointer<CChar>, _ facts: () -> stat?) -> Void
    ) {
        guard let folder = opendir(path) else { return }
        defer { closedir(folder) }
        let descriptor = dirfd(folder)
        while let entry = readdir(folder) {
            withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                guard let name = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return }
                body(name) {
                    var facts = stat()
                    return fstatat(descriptor, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts : nil
                }
            }
        }
    }
}
