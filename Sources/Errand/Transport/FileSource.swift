internal import Foundation

/// A body that is read from a file while it is sent, as the file was when the request was built.
///
/// A reader fails if the file was changed or replaced since. It checks again before it supplies the last bytes, so that
/// a request with mixed content is never complete.
struct FileSource: BodySource {
    /// The identity and the version of a file.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
        let byteCount: Int64
        let changed: Int64

        init(_ facts: stat) {
            device = facts.st_dev
            inode = facts.st_ino
            byteCount = Int64(facts.st_size)
            changed = facts.changed
        }
    }

    let path: String
    private let identity: Identity

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)``.
    init(_ url: URL) throws(NetworkError) {
        path = url.path
        guard url.isFileURL else { throw Self.unusable(path, "its URL is not a file URL") }
        let file = try OpenedFile(path)
        identity = file.identity
        // Files of the system, such as those in /proc, have content and a size of 0.
        var byte: UInt8 = 0
        if identity.byteCount == 0, try withUnsafeMutableBytes(of: &byte, file.read) > 0 {
            throw Self.unusable(path, "its size differs from its content's")
        }
    }

    var byteCount: Int64? { identity.byteCount }

    func makeReader() throws -> any BodyReader {
        let file = try OpenedFile(path)
        guard file.identity == identity else { throw file.changed }
        return Reader(file)
    }

    /// The last component, because the path can contain a secret, such as the name of a user.
    private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    private static func unusable(_ path: String, _ detail: String, because error: (any Error)? = nil) -> NetworkError {
        NetworkError(.fileUnusable("'\(name(of: path).shortened(to: 300))': \(detail)"), underlying: error)
    }

    private final class OpenedFile {
        let identity: Identity
        private let path: String
        private let descriptor: Int32

        init(_ path: String) throws(NetworkError) {
            // Without waiting for the writer of a named pipe.
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            var facts = stat()
            guard descriptor >= 0, fstat(descriptor, &facts) == 0 else {
                let error = POSIXError.last
                if descriptor >= 0 { close(descriptor) }
                throw FileSource.unusable(path, Self.detail(of: error.code), because: error)
            }
            guard facts.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                let isDirectory = facts.st_mode & S_IFMT == S_IFDIR
                throw FileSource.unusable(path, isDirectory ? "it is a directory" : "it is not a regular file")
            }
            (self.path, self.descriptor, identity) = (path, descriptor, Identity(facts))
        }

        deinit { close(descriptor) }

        private static func detail(of code: POSIXErrorCode) -> String {
            switch code {
            case .ENOENT, .ENOTDIR: "it does not exist"
            case .EACCES, .EPERM: "its permissions do not allow to read it"
            case .ELOOP: "it is a symbolic link to itself"
            case .ENAMETOOLONG: "its path is too long"
            case .EMFILE, .ENFILE: "too many files are open"
            default: "the system reports error \(code.rawValue)"
            }
        }

        var changed: NetworkError {
            let name = FileSource.name(of: path).shortened(to: 300)
            return NetworkError(
                .bodyUnreadable("the file '\(name)' changed before it was sent completely; send the request again")
            )
        }

        /// Throws if the file has changed since it was opened, or if another one is at its path.
        func check() throws(NetworkError) {
            var facts = stat()
            guard fstat(descriptor, &facts) == 0, Identity(facts) == identity else { throw changed }
            // A deleted file is still there for this reader.
            if stat(path, &facts) == 0, Identity(facts) != identity { throw changed }
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkError) -> Int {
            while true {
                let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                if count >= 0 { return count }
                guard errno == EINTR else {
                    throw NetworkError(
                        .bodyUnreadable("the file '\(FileSource.name(of: path))' could not be read while it was sent"),
                        underlying: POSIXError.last
                    )
                }
            }
        }
    }

    private final class Reader: BodyReader {
        private let file: OpenedFile
        private var rest: Int64

        init(_ file: OpenedFile) {
            self.file = file
            rest = file.identity.byteCount
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let wanted = Int(clamping: min(Int64(buffer.count), rest))
            guard wanted > 0 else { return 0 }
            let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            guard count > 0 else { throw file.changed }
            rest -= Int64(count)
            if rest == 0 { try file.check() }
            return count
        }
    }
}
