internal import Foundation

/// Devices, pipes, sockets and the links to them, which no file may replace.
///
/// `rename` replaces them as it does a file: `/dev/null` would be a file for all programs.
enum SpecialFile {
    /// Returns the kind of special file at a path, such as `a device`, or `nil` if there is nothing, a file, a folder, or a
    /// link to one of these.
    static func kind(at path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFLNK else { return kind(of: status) }
        if isStandardStream(path) { return "a link to a descriptor" }
        guard stat(path, &status) == 0 else { return nil }
        return kind(of: status).map { "a link to \($0)" }
    }

    private static func kind(of status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: nil
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    /// Whether a link is like `/dev/stdout`, which leads to a file if the stream does.
    private static func isStandardStream(_ path: String) -> Bool {
        // A link that cannot be read leads nowhere.
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return false }
        return ["/proc/", "/dev/fd/"].contains { target.hasPrefix($0) }
            || path.hasPrefix("/dev/") && target.hasPrefix("fd/")
    }
}

extension POSIXError {
    /// The error of the system call that has just failed on this thread.
    static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}

extension stat {
    /// The size, at most 1 TiB, so that the sizes of all files of a folder can be added, whatever they are.
    var size: Int64 { min(max(0, Int64(st_size)), 1 << 40) }

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
