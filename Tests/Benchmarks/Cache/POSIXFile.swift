import Errand
import Foundation

/// The reference of the benchmarks: files by system calls alone.
enum POSIXFile {
    /// Reads a file into bytes of its own, and its checksum.
    static func readChecked(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw failure() }
        let size = Int(facts.st_size)
        guard let memory = malloc(max(1, size)) else { throw failure() }
        let data = Data(bytesNoCopy: memory, count: size, deallocator: .free)
        guard read(descriptor, memory, size) == size else { throw failure() }
        let sum = data.withUnsafeBytes { Checksum.of($0) }
        withExtendedLifetime(sum) {}
    }

    /// Writes a new file; returns whether that worked.
    static func create(_ data: Data, _ path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) } == data.count
    }

    static func write(_ data: Data, aside: String, as path: String) throws {
        let descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        let count = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        guard count == data.count, rename(aside, path) == 0 else { throw failure() }
    }

    private static func failure() -> any Error { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
