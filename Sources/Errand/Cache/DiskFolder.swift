internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The folders of a ``DiskStore``: `00` to `ff`, and `tmp` in the same file system for files that are being written;
/// beside them the file `totals`.
struct DiskFolder: Sendable {
    let path: String
    /// The path of the file of ``DiskTotals``.
    let totals: String
    private let prefix: [UInt8]

    init(path: String) {
        let end = path.utf8.last == UInt8(ascii: "/") && path.utf8.count > 1 ? path.utf8.dropLast() : path.utf8[...]
        self.path = String(end) ?? path
        totals = self.path + "/totals"
        prefix = Array(end)
    }

    var temporary: String { path + "/tmp" }

    func shard(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return path + (digits.utf8.count == 1 ? "/0" : "/") + digits
    }

    /// Calls a closure with the path of an entry, on the stack: creating a `String` costs as much as the lookup.
    func withPath<Value>(of key: CacheKey, _ body: (FilePath) throws -> Value) rethrows -> Value {
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
                return try body(FilePath(start: start))
            }
        }
    }

    /// Creates the folders that writing an entry needs.
    ///
    /// - Throws: `POSIXError`.
    func makeFolders(for key: CacheKey) throws {
        try makeFolder()
        for folder in [temporary, shard(Int(key.shard))] where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw POSIXError.last
        }
    }

    /// Creates the folder itself, and those that contain it; on Apple platforms it is excluded from backups.
    ///
    /// - Throws: `POSIXError`.
    func makeFolder() throws {
        #if canImport(Darwin)
        let isNew = access(path, F_OK) != 0
        try Self.makeFolder(path[...])
        guard isNew else { return }
        var url = URL(filePath: path)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        // A cache that is backed up all the same is only a waste.
        try? url.setResourceValues(values)
        #else
        try Self.makeFolder(path[...])
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

    /// Creates the folder if it is missing, and locks the totals; see ``DiskTotals``.
    ///
    /// - Throws: `POSIXError`.
    func lockedTotals(upTo limit: Int = DiskTotals.patience) throws -> DiskTotals {
        do {
            return try DiskTotals.locked(totals, upTo: limit)
        } catch let error as POSIXError where error.code == .ENOENT {
            try makeFolder()
            return try DiskTotals.locked(totals, upTo: limit)
        }
    }

    /// Removes the temporary files of writers that no longer exist.
    ///
    /// A writer has the lock of ``DiskTotals`` while it writes, or else keeps its temporary file locked. The system unlocks
    /// both if the writer's process ends in any way.
    ///
    /// - Parameter isLocked: Whether the caller has the lock. Without it, nothing is removed.
    /// - Returns: The totals of the temporary files that remain.
    @discardableResult
    func sweep(isLocked: Bool) -> CacheTotals {
        var remaining = CacheTotals()
        guard let folder = opendir(temporary) else { return remaining }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            let path = temporary + "/" + name
            let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var facts = stat()
            fstat(descriptor, &facts)
            if isLocked, flock(descriptor, LOCK_EX | LOCK_NB) == 0, unlink(path) == 0 { continue }
            remaining = remaining + CacheTotals(count: 1, size: Int(clamping: facts.st_size))
        }
        return remaining
    }

    /// Visits the files of a folder whose names are keys; a missing folder has none.
    ///
    /// - Parameters:
    ///   - number: The number of the folder.
    ///   - keys: Returns whether the size and the time of a file are read, which costs more than its name.
    ///   - body: Called with the key, the size and the time of each of these files.
    func visit(
        _ number: Int,
        among keys: (CacheKey) -> Bool = { _ in true },
        _ body: (_ key: CacheKey, _ size: Int, _ changed: Int64) -> Void
    ) {
        guard let folder = opendir(shard(number)) else { return }
        defer { closedir(folder) }
        let descriptor = dirfd(folder)
        while let entry = readdir(folder) {
            let key = withUnsafeBytes(of: &entry.pointee.d_name) { name -> CacheKey? in
                guard name.count > 64, name[64] == 0 else { return nil }
                return CacheKey(hexadecimal: name.prefix(64))
            }
            guard let key, keys(key) else { continue }
            var facts = stat()
            let isThere = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 65) {
                    fstatat(descriptor, $0, &facts, AT_SYMLINK_NOFOLLOW) == 0
                }
            }
            if isThere { body(key, Int(clamping: facts.st_size), facts.changed) }
        }
    }

    /// Sets the time at which the file of a key was last used; has no effect on a read-only file system.
    func touch(_ key: CacheKey, _ nanoseconds: Int64) {
        withPath(of: key) { path in
            let descriptor = path.descriptor(O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            timespec(nanoseconds: nanoseconds).set(on: descriptor)
            close(descriptor)
        }
    }

    /// Removes the file of a key, of any kind.
    ///
    /// - Returns: Whether there was one, and it is removed.
    @discardableResult
    func remove(_ key: CacheKey) -> Bool {
        withPath(of: key) { path in
            if path.remove() { return true }
            guard errno == EISDIR || errno == EPERM || errno == ENOTEMPTY else { return false }
            // A directory in place of a file. If it cannot be removed, it remains a miss.
            return (try? FileManager.default.removeItem(atPath: path.text)) != nil
        }
    }
}

/// A path as a C string, valid only within the closure that receives it.
struct FilePath {
    let start: UnsafePointer<CChar>

    var text: String { String(cString: start) }

    /// Opens the file, and returns its descriptor, or a number below 0 if that fails.
    func descriptor(_ flags: Int32, mode: mode_t = 0) -> Int32 { open(start, flags, mode) }

    /// Opens the file like ``descriptor(_:mode:)``; links are not followed, and a pipe is not waited for.
    func descriptorForReading() -> Int32 {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        #if canImport(Darwin)
        return open(start, flags)
        #else
        // Otherwise the first read of a file writes its time of access. Only the owner of the file may ask for this.
        let withoutTime: Int32 = 0o1000000  // O_NOATIME
        let descriptor = open(start, flags | withoutTime)
        return descriptor < 0 && errno == EPERM ? open(start, flags) : descriptor
        #endif
    }

    /// Returns the size and the time of the file, or `nil` if there is none.
    func facts() -> (size: Int, changed: Int64)? {
        var facts = stat()
        return lstat(start, &facts) == 0 ? (Int(clamping: facts.st_size), facts.changed) : nil
    }

    /// Returns the size that the file of a key was written with, or `nil` if there is none; the size is `nil` if the file is
    /// damaged.
    func writtenSize(for key: CacheKey) -> Int?? {
        let descriptor = descriptorForReading()
        guard descriptor >= 0 else { return errno == ENOENT ? nil : .some(nil) }
        defer { close(descriptor) }
        return .some(EntryReader(descriptor: descriptor, key: key).writtenSize())
    }

    /// Whether the path still leads to an opened file.
    func leads(to descriptor: Int32) -> Bool {
        var (one, other) = (stat(), stat())
        return lstat(start, &one) == 0 && fstat(descriptor, &other) == 0 && one.st_ino == other.st_ino
            && one.st_dev == other.st_dev
    }

    func remove() -> Bool { unlink(start) == 0 }
}

extension stat {
    /// The time at which the content last changed, in nanoseconds since 1970.
    var changed: Int64 {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return time.nanoseconds
    }
}

extension timespec {
    /// The exact current time; a time that the system sets by itself is some milliseconds coarse.
    static var now: timespec {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time
    }

    var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }

    /// Returns a time in nanoseconds since 1970.
    init(nanoseconds: Int64) {
        self.init(
            tv_sec: numericCast(nanoseconds / 1_000_000_000),
            tv_nsec: numericCast(nanoseconds % 1_000_000_000)
        )
    }

    /// Sets the time at which a file was last used; has no effect on a read-only file system.
    func set(on descriptor: Int32) {
        withUnsafeTemporaryAllocation(of: timespec.self, capacity: 2) { times in
            times.initialize(repeating: self)
            futimens(descriptor, times.baseAddress)
        }
    }
}
