internal import Dispatch
internal import Foundation

/// The random secret with which the digests of credentials in cache keys are keyed, so that no credential can be guessed from
/// the name of a file.
///
/// All processes that share a folder have the same: 32 bytes in the file `secret`, with mode 0600. Without a folder, or if the
/// file can be neither read nor written, it is the secret of the process.
final class CacheSecret: Sendable {
    /// The secret of this process.
    static let ofProcess = Data(newBytes()).base64EncodedString()

    private let folder: DiskFolder?
    private let known: Lock<String?>
    private let queue = DispatchQueue(label: "errand.cache.secret", qos: .userInitiated)

    init(in folder: DiskFolder?) {
        self.folder = folder
        known = Lock(folder == nil ? Self.ofProcess : nil)
    }

    /// The secret as text; waits for the disk the first time.
    var value: String {
        if let known = known.withLock({ $0 }) { return known }
        let value = folder.flatMap(Self.bytes).map { Data($0).base64EncodedString() } ?? Self.ofProcess
        return known.withLock { known in
            known = known ?? value
            return known ?? value
        }
    }

    /// Returns the secret, waiting for the disk only as long as a send may.
    ///
    /// - Throws: ``CacheMiss/tooSlow``, or `CancellationError`.
    func value(until limit: DispatchTime) async throws -> String {
        if let known = known.withLock({ $0 }) { return known }
        let wait = CacheWait<String>()
        queue.async { [self] in wait.finish(with: .success(value)) }
        DispatchQueue.global().asyncAfter(deadline: limit) { wait.finish(with: .failure(CacheMiss.tooSlow)) }
        return try await wait.value()
    }

    /// Returns the bytes of the file, which is written if it is missing or incomplete, or `nil` if that fails.
    private static func bytes(in folder: DiskFolder) -> [UInt8]? {
        // If it fails, so does opening the file.
        try? folder.makeFolder()
        let file = open(folder.path + "/secret", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // The first process writes it; the others wait for that.
        guard flock(file, LOCK_EX) == 0 else { return nil }
        let new = newBytes()
        var bytes = new
        if pread(file, &bytes, bytes.count, 0) == bytes.count { return bytes }
        return pwrite(file, new, new.count, 0) == new.count ? new : nil
    }

    private static func newBytes() -> [UInt8] { (0..<32).map { _ in .random(in: .min ... .max) } }
}
