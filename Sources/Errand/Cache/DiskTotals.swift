internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The number and the size of all files of a folder, in a file that every writer of every process locks.
///
/// The totals are never less than what is on disk: a writer adds a size before it writes, and subtracts one after it has
/// removed. A process that ends in between leaves a size too many, which the next eviction corrects by counting. After a
/// restart of the system, and if the file is damaged, everything is counted once.
///
/// The file has 48 bytes: magic, a digest of the start of the system, number, size, the number of removals of
/// everything, checksum. It is opened for each use, because a lock belongs to an opened file: threads exclude each other
/// like processes, and a folder that was removed and created anew has a new lock.
struct DiskTotals: ~Copyable {
    /// The totals, or `nil` if they have to be counted.
    private(set) var values: CacheTotals?
    /// The number of removals of everything, so that a writer knows whether there was one while it wrote.
    private(set) var clearings: UInt64 = 0
    private let descriptor: Int32
    private(set) var isLocked: Bool

    private static let magic: UInt64 = 0x0A0D_4C41_544F_1A89
    private static let byteCount = 48
    private static let system = systemDigest()

    /// Takes ownership of a descriptor that has the lock.
    private init(locked descriptor: Int32) {
        self.descriptor = descriptor
        isLocked = true
        load()
    }

    /// Totals that are neither known nor written.
    static var unavailable: DiskTotals { DiskTotals() }

    private init() {
        descriptor = -1
        isLocked = false
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Opens and locks the totals of a folder that exists.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is created if it does not exist.
    ///   - limit: The number of milliseconds to wait for other writers, or 0 not to wait.
    /// - Returns: The totals, which are locked for as long as they exist.
    /// - Throws: `POSIXError`: `ETIMEDOUT` if another writer has the lock for all of that time.
    static func locked(_ path: String, upTo limit: Int = DiskTotals.patience) throws -> DiskTotals {
        // Again if the file was removed while this waited for its lock, or if it was damage, which is removed.
        for _ in 0..<100 {
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            var isDamage = descriptor < 0 && (errno == EISDIR || errno == ELOOP)
            guard descriptor >= 0 || isDamage else { throw POSIXError.last }
            if descriptor >= 0 {
                do {
                    try lock(descriptor, upTo: limit)
                } catch {
                    close(descriptor)
                    throw error
                }
                var facts = stat()
                fstat(descriptor, &facts)
                isDamage = facts.st_mode & S_IFMT != S_IFREG
                if !isDamage, facts.st_nlink > 0 { return DiskTotals(locked: descriptor) }
                close(descriptor)
            }
            if isDamage { try? FileManager.default.removeItem(atPath: path) }
        }
        throw POSIXError(.EIO)
    }

    /// Returns the totals as they were last written, without waiting, or `nil` if they have to be counted.
    static func current(_ path: String) -> CacheTotals? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return read(descriptor)?.values
    }

    /// The number of milliseconds that a writer waits for others; counting a million entries takes some seconds.
    static let patience = 10_000

    /// Waits in steps, because a blocking `flock` has no limit, and a process may be stopped while it has the lock.
    private static func lock(_ descriptor: Int32, upTo limit: Int) throws {
        var (waited, pause) = (0, 50)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw POSIXError.last }
            guard waited < limit * 1_000 else { throw POSIXError(.ETIMEDOUT) }
            usleep(useconds_t(pause))
            waited += pause
            pause = min(2 * pause, 1_000)
        }
    }

    // MARK: Changes

    /// Adds a file that is about to be written.
    ///
    /// - Throws: `POSIXError` if the file of the totals cannot be written, such as on a full disk.
    mutating func reserve(_ size: Int) throws {
        try set((values ?? CacheTotals()) + CacheTotals(count: 1, size: size))
    }

    /// Subtracts a file that was removed.
    ///
    /// - Parameter size: The size that the file was written with, or `nil` if it is unknown, because the file was damaged:
    ///   then everything is counted again.
    mutating func release(_ size: Int?) {
        guard let values else { return }
        let rest = size.map { values - CacheTotals(count: 1, size: $0) }
        guard let rest, rest.count >= 0, rest.size >= 0 else { return forget() }
        // What cannot be written remains a size too many.
        try? set(rest)
    }

    /// Makes the totals unknown, so that the next use counts all files.
    private mutating func forget() {
        values = nil
        if isLocked { ftruncate(descriptor, 0) }
    }

    /// Replaces the totals by what was counted.
    mutating func set(_ totals: CacheTotals) throws {
        values = totals
        try save()
    }

    /// Records a removal of everything, for writers that have released the lock.
    ///
    /// If nothing is left, the file is removed, too; whoever waits for its lock opens another one.
    mutating func didClear(_ path: String) throws {
        clearings &+= 1
        guard isLocked, values == CacheTotals() else { return try save() }
        isLocked = false
        // If the folder was replaced meanwhile, the file at this path is the lock of another writer.
        if path.withCString({ FilePath(start: $0).leads(to: descriptor) }) { unlink(path) }
    }

    /// Runs work while others may have the lock.
    ///
    /// - Throws: The error of the work, or `POSIXError` if the lock cannot be had again. `ECANCELED`: the file was removed,
    ///   with everything else.
    mutating func whileUnlocked(_ work: () throws -> Void) throws {
        flock(descriptor, LOCK_UN)
        isLocked = false
        let result = Result { try work() }
        try Self.lock(descriptor, upTo: Self.patience)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_nlink > 0 else {
            values = nil
            throw POSIXError(.ECANCELED)
        }
        isLocked = true
        load()
        try result.get()
    }

    // MARK: The file

    private mutating func load() {
        guard let record = Self.read(descriptor) else {
            // Not a number that a writer may have seen.
            (values, clearings) = (nil, UInt64.random(in: 0...UInt64.max / 2))
            return
        }
        (values, clearings) = record
    }

    private static func read(_ descriptor: Int32) -> (values: CacheTotals, clearings: UInt64)? {
        withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { bytes in
            guard pread(descriptor, bytes.baseAddress, byteCount, 0) == byteCount else { return nil }
            func word(_ place: Int) -> UInt64 {
                UInt64(littleEndian: bytes.load(fromByteOffset: place, as: UInt64.self))
            }
            guard word(0) == magic, word(8) == system, word(40) == checksum(bytes),
                let count = Int(exactly: word(16)), let size = Int(exactly: word(24))
            else { return nil }
            return (CacheTotals(count: count, size: size), word(32))
        }
    }

    private func save() throws {
        guard isLocked, let values else { return }
        try withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 8) { bytes in
            func put(_ word: UInt64, _ place: Int) {
                bytes.storeBytes(of: word.littleEndian, toByteOffset: place, as: UInt64.self)
            }
            put(Self.magic, 0)
            put(Self.system, 8)
            put(UInt64(clamping: values.count), 16)
            put(UInt64(clamping: values.size), 24)
            put(clearings, 32)
            put(Self.checksum(bytes), 40)
            let count = pwrite(descriptor, bytes.baseAddress, Self.byteCount, 0)
            guard count == Self.byteCount else { throw count < 0 ? POSIXError.last : POSIXError(.ENOSPC) }
        }
    }

    private static func checksum(_ bytes: UnsafeMutableRawBufferPointer) -> UInt64 {
        Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[..<40]))
    }

    /// Returns a digest that differs after each start of the system: writes that had not reached the disk are lost then.
    private static func systemDigest() -> UInt64 {
        #if canImport(Darwin)
        var text = [UInt8](repeating: 0, count: 64)
        var size = text.count
        sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0)
        return text.withUnsafeBytes { Checksum.of($0) }
        #else
        // Without the file the digest is that of nothing, and only an eviction counts.
        let text = (try? Data(contentsOf: URL(filePath: "/proc/sys/kernel/random/boot_id"))) ?? Data()
        return text.withUnsafeBytes { Checksum.of($0) }
        #endif
    }
}
