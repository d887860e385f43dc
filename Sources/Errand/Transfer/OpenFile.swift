internal import Dispatch
internal import Foundation

/// An open regular file of one's own, which nobody else may read.
///
/// It is never opened through a symbolic link.
final class OpenFile: Sendable {
    private let descriptor: Int32
    private let path: String

    private init(_ descriptor: Int32, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

    deinit { close(descriptor) }

    /// Opens or creates a file, and locks it against every other opener, of this process too.
    ///
    /// A file that has a second name loses this one, and another one is created.
    ///
    /// - Throws: ``NetworkError/Reason/downloadInProgress(_:)`` if it is locked, or
    ///   ``NetworkError/Reason/fileUnusable(_:)``.
    static func locked(_ path: String) throws(NetworkError) -> OpenFile {
        // A file that was moved to its target while this waited is not the one at the path any more.
        for _ in 0..<8 {
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure(path) }
            let file = OpenFile(descriptor, path)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw errno == EWOULDBLOCK ? NetworkError(.downloadInProgress(name(path))) : failure(path)
            }
            var own = stat()
            guard fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG else {
                throw unusable(path, "it is not a regular file")
            }
            guard own.st_uid == geteuid() else { throw unusable(path, "it is another user's; remove it") }
            if file.isAtPath {
                if own.st_nlink > 1 {
                    // A crash left it after `claim(_:for:)`, or, in a folder that others can write to, it is another name of any
                    // file, which keeps its bytes.
                    unlink(path)
                    continue
                }
                if own.st_mode & 0o7777 != 0o600 { _ = fchmod(descriptor, 0o600) }
                return file
            }
        }
        throw NetworkError(.downloadInProgress(name(path)))
    }

    /// Returns the content of a small file of one's own, or `nil` if there is none or it is larger.
    static func contents(of path: String, upTo limit: Int) -> Data? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = OpenFile(descriptor, path)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return nil
        }
        var data = Data()
        try? file.forEachBlock(from: 0, to: Int64(limit) + 1) { data.append(contentsOf: $0) }
        return data.count <= limit ? data : nil
    }

    /// Writes a small file beside its path, and moves it there.
    ///
    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)``.
    static func replace(_ path: String, with data: Data) throws(NetworkError) {
        let temporary = path + ".tmp"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let file = OpenFile(descriptor, path)
        do throws(NetworkError) {
            try file.write(data, at: 0)
            guard rename(temporary, path) == 0 else { throw failure(path) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Gives a file a second name, or, if something has that, the name with a number at its end.
    ///
    /// No other caller gets the same one. If the file system has no links, an empty file gets the name.
    ///
    /// - Parameters:
    ///   - path: The path with the second name.
    ///   - file: The path of the file.
    /// - Returns: The path that was used, and whether it leads to the file.
    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)``.
    static func claim(_ path: String, for file: String) throws(NetworkError) -> (path: String, isLinked: Bool) {
        for number in 0..<10_000 {
            let path = number == 0 ? path : "\(path).\(number)"
            if link(file, path) == 0 { return (path, true) }
            if errno == EEXIST { continue }
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                close(descriptor)
                return (path, false)
            }
            guard errno == EEXIST else { throw failure(path) }
        }
        throw unusable(path, "there are 10,000 files of that name; choose another folder")
    }

    func length() throws(NetworkError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
        return Int64(status.st_size)
    }

    /// Whether the path still leads to this file.
    var isAtPath: Bool {
        var (own, current) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &current) == 0 && current.st_ino == own.st_ino
            && current.st_dev == own.st_dev
    }

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)`` if the file has another length, or no name any more, because
    ///   something else has changed it.
    func check(length: Int64) throws(NetworkError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
        guard Int64(status.st_size) == length, status.st_nlink > 0 else { throw changed }
    }

    /// The error if something else has changed the file.
    var changed: NetworkError { Self.unusable(path, "something else has changed it meanwhile") }

    func truncate(to length: Int64) throws(NetworkError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw Self.failure(path) }
    }

    func write(_ data: Data, at offset: Int64) throws(NetworkError) {
        let failed = data.withUnsafeBytes { bytes -> Bool in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return true }
                done += count
            }
            return false
        }
        if failed { throw Self.failure(path) }
    }

    /// Calls a closure with the bytes between two positions, or up to the end of the file.
    ///
    /// Not inlined: in an asynchronous function, the buffer would be a part of its state.
    @inline(never)
    func forEachBlock(from start: Int64, to end: Int64, _ body: (UnsafeRawBufferPointer) -> Void) throws {
        let size = 256 << 10
        try withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
            var position = start
            while position < end {
                let wanted = Int(min(Int64(size), end - position))
                let count = pread(descriptor, buffer.baseAddress, wanted, off_t(position))
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.failure(path) }
                if count == 0 { return }
                body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                position += Int64(count)
            }
        }
    }

    func unlock() { flock(descriptor, LOCK_UN) }

    private static let queue = DispatchQueue(label: "errand.file.sync", qos: .utility, attributes: .concurrent)

    /// Waits until the disk has all bytes, without blocking a thread of the caller.
    func synchronized() async throws {
        let failure: NetworkError? = await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: self.synchronize() ? nil : Self.failure(self.path)) }
        }
        if let failure { throw failure }
    }

    /// Waits until the disk has all bytes.
    ///
    /// - Returns: Whether it has.
    private func synchronize() -> Bool {
        #if canImport(Darwin)
        // `fsync` leaves the bytes in the memory of the drive; not every file system has the other call.
        fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0
        #else
        fdatasync(descriptor) == 0
        #endif
    }

    /// The error of the system call that has just failed on this thread.
    static func failure(_ path: String) -> NetworkError {
        let error = POSIXError.last
        return unusable(path, detail(of: error.code), because: error)
    }

    private static func detail(of code: POSIXErrorCode) -> String {
        switch code {
        case .ENOENT: "there is no such folder; create it first"
        case .ENOTDIR: "that is a file, and not a folder"
        case .EACCES, .EPERM: "its permissions, or those of the folder, do not allow it"
        case .ENOSPC, .EDQUOT: "no space is left there; free some, and send the request again"
        case .EROFS: "the disk can only be read"
        case .ELOOP: "it is a symbolic link; remove it"
        case .EISDIR: "there is a folder of that name; remove it, or choose another target"
        default: String(cString: strerror(code.rawValue)).lowercased()
        }
    }

    /// The error of a file, with the name of its folder, but without the folders around it, which may be private.
    static func unusable(_ path: String, _ detail: String, because error: (any Error)? = nil) -> NetworkError {
        let folder = path.split(separator: "/").dropLast().last { $0 != "." }.map { " in '\($0)'" } ?? ""
        return NetworkError(.fileUnusable("'\(name(path))'\(folder): \(detail)"), underlying: error)
    }

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)`` if a path contains NUL, at which the system would end it.
    static func checkNUL(_ path: String) throws(NetworkError) {
        guard !path.utf8.contains(0) else { throw NetworkError(.fileUnusable("the path contains NUL; remove it")) }
    }

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)`` if there is a folder at a path, a device or a pipe.
    static func checkReplaceable(_ path: String) throws(NetworkError) {
        if let kind = SpecialFile.kind(at: path) {
            throw unusable(path, "it is \(kind), and no file may replace it; choose another target")
        }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        throw unusable(path, "there is a folder of that name; remove it, or choose another target")
    }

    /// The last component of a path; its folders may be private.
    private static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}
