internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The folders of a ``DiskStore``: `00` to `ff`, and `tmp` in the same file system for files that are being written.
struct DiskFolder: Sendable {
    let path: String
    private let prefix: [UInt8]

    init(path: String) {
        let end = path.utf8.last == UInt8(ascii: "/") && path.utf8.count > 1 ? path.utf8.dropLast() : path.utf8[...]
        self.path = String(end) ?? path
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
    func makeFolders(for key: CacheKey) {
        if mkdir(path, 0o700) != 0, errno == ENOENT {
            // If this fails, opening the file fails as well, and reports it.
            try? FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        mkdir(temporary, 0o700)
        mkdir(shard(Int(key.shard)), 0o700)
    }

    /// Removes the temporary files of writers that no longer exist.
    ///
    /// A writer keeps its file locked from before it writes until after it is renamed, and the system unlocks it if the
    /// writer's process ends in any way.
    func sweep() {
        guard let folder = opendir(temporary) else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            let path = temporary + "/" + name
            let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
            close(descriptor)
        }
    }

    /// Visits the files of a folder whose names are keys, with their sizes and times; a missing folder has none.
    func visit(_ number: Int, _ body: (_ key: CacheKey, _ size: Int, _ changed: Int64) throws -> Void) rethrows {
        guard let folder = opendir(shard(number)) else { return }
        defer { closedir(folder) }
        let descriptor = dirfd(folder)
        while let entry = readdir(folder) {
            let key = withUnsafeBytes(of: &entry.pointee.d_name) { name -> CacheKey? in
                guard name.count > 64, name[64] == 0 else { return nil }
                return CacheKey(hexadecimal: name.prefix(64))
            }
            guard let key else { continue }
            var facts = stat()
            let isThere = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 65) {
                    fstatat(descriptor, $0, &facts, AT_SYMLINK_NOFOLLOW) == 0
                }
            }
            guard isThere else { continue }
            try body(key, Int(clamping: facts.st_size), facts.changed)
        }
    }
}

/// A path as a C string, valid only within the closure that receives it.
struct FilePath {
    let start: UnsafePointer<CChar>

    var text: String { String(cString: start) }

    /// Opens the file, and returns its descriptor, or a number below 0 if that fails.
    func descriptor(_ flags: Int32, mode: mode_t = 0) -> Int32 { open(start, flags, mode) }

    func size() -> Int? {
        var facts = stat()
        return lstat(start, &facts) == 0 ? Int(clamping: facts.st_size) : nil
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

    /// Sets the time at which a file was last used; has no effect on a read-only file system.
    func set(on descriptor: Int32) {
        withUnsafeTemporaryAllocation(of: timespec.self, capacity: 2) { times in
            times.initialize(repeating: self)
            futimens(descriptor, times.baseAddress)
        }
    }
}
