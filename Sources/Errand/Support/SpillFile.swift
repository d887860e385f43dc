internal import Foundation

/// A temporary file without a name that is written at its end, read from its start, and deleted with its last reference.
///
/// Must not be used by two threads at once.
final class SpillFile {
    private let descriptor: Int32
    private let maximumByteCount: off_t
    private var readOffset: off_t = 0
    private var writeOffset: off_t = 0

    /// Creates a file in the temporary directory.
    ///
    /// - Parameter maximumByteCount: The size that the file may have, including what was read already.
    /// - Throws: `POSIXError`.
    init(maximumByteCount: Int = .max) throws {
        self.maximumByteCount = off_t(maximumByteCount)
        var template = Array(FileManager.default.temporaryDirectory.appending(path: "errand-XXXXXX").path.utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw POSIXError.last }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    /// The number of bytes that were written and not read yet.
    var unreadByteCount: Int { Int(writeOffset - readOffset) }

    /// Writes bytes at the end; throws `POSIXError`, with `EFBIG` for more than the file may have.
    func append(_ data: Data) throws {
        guard data.count <= maximumByteCount - writeOffset else { throw POSIXError(.EFBIG) }
        try data.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            var done = 0
            while done < bytes.count {
                let count = pwrite(descriptor, start + done, bytes.count - done, writeOffset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw POSIXError.last }
                done += count
                writeOffset += off_t(count)
            }
        }
    }

    /// Returns the next bytes, at most 64 KiB, or `nil` if all that was written has been read.
    func read() throws -> Data? {
        let wanted = Int(min(writeOffset - readOffset, 64 << 10))
        guard wanted > 0 else { return nil }
        var data = Data(count: wanted)
        let count = data.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { pread(descriptor, $0, wanted, readOffset) } ?? 0
        }
        guard count > 0 else { throw POSIXError.last }
        readOffset += off_t(count)
        return data.prefix(count)
    }
}
