public import Foundation

/// The bytes of an entry, in a file or in a store of your own.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | checksum of everything else |
/// | 8 | 8 | magic, with the version of the format |
/// | 16 | 8 | length of the metadata, or 2^63 if the bytes after the header are sealed by a ``CacheCipher`` |
/// | 24 | 8 | length of the body, or of all sealed bytes |
/// | 32 | 32 | key |
/// | 64 | | metadata, then the body |
///
/// Numbers are little-endian.
struct EntryFile {
    static let headerSize = 64
    /// Not text, and changed by every transfer that treats it as text.
    private static let magic: UInt64 = 0x0A0D_4352_45E7_1A02
    private static let sealed: UInt64 = 1 << 63
    /// More than any header section that a transport accepts.
    static let maximumMetadataSize = 4 << 20

    /// The header and the metadata.
    let head: [UInt8]
    /// The body, or all sealed bytes; not copied.
    let body: Data
    var size: Int { head.count + body.count }

    /// The file of an entry, which is sealed if there is a cipher.
    ///
    /// - Throws: An error of the cipher, or `POSIXError`: `EFBIG` if the metadata is too large.
    init(_ entry: CacheEntry, for key: CacheKey, cipher: (any CacheCipher)?) throws {
        if let cipher {
            self.init([], try cipher.seal(entry.data(for: key), for: key), for: key, metadataSize: Self.sealed)
        } else {
            self.init(entry, for: key)
            guard head.count <= Self.headerSize + Self.maximumMetadataSize else { throw POSIXError(.EFBIG) }
        }
    }

    fileprivate init(_ entry: CacheEntry, for key: CacheKey) {
        let metadata = entry.metadata
        self.init(metadata, entry.body, for: key, metadataSize: UInt64(metadata.count))
    }

    private init(_ metadata: [UInt8], _ body: Data, for key: CacheKey, metadataSize: UInt64) {
        var head = [UInt8](repeating: 0, count: Self.headerSize)
        head.reserveCapacity(Self.headerSize + metadata.count)
        head.append(contentsOf: metadata)
        head.withUnsafeMutableBytes { bytes in
            let words = [
                Self.magic.littleEndian, metadataSize.littleEndian, UInt64(body.count).littleEndian,
                key.words.0.bigEndian, key.words.1.bigEndian, key.words.2.bigEndian, key.words.3.bigEndian,
            ]
            for (place, word) in words.enumerated() {
                bytes.storeBytes(of: word, toByteOffset: 8 + 8 * place, as: UInt64.self)
            }
            let sum = body.withUnsafeBytes { Self.checksum(UnsafeRawBufferPointer(bytes), $0) }
            bytes.storeBytes(of: sum.littleEndian, as: UInt64.self)
        }
        (self.head, self.body) = (head, body)
    }

    /// Writes the file.
    ///
    /// - Throws: `POSIXError`.
    func write(to descriptor: Int32) throws {
        try head.withUnsafeBytes { head in
            try body.withUnsafeBytes { body in
                var done = 0
                while done < head.count + body.count {
                    // In steps, because some systems limit the size of one write.
                    let rest = UnsafeRawBufferPointer(
                        rebasing: body.dropFirst(max(0, done - head.count)).prefix(8 << 20)
                    )
                    var parts = [iovec(part: head, from: min(done, head.count)), iovec(part: rest, from: 0)]
                    let count = writev(descriptor, &parts, 2)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw POSIXError.last }
                    done += count
                }
            }
        }
    }

    /// Reads a file in one call into the memory that the body keeps.
    ///
    /// - Returns: The entry, or `nil` if the file is damaged, or not of this key and version.
    /// - Throws: An error of the cipher.
    static func entry(
        in descriptor: Int32,
        _ facts: stat,
        for key: CacheKey,
        cipher: (any CacheCipher)?
    ) throws -> CacheEntry? {
        // Not mapped: if another process truncated a mapped file, this one would crash.
        guard facts.st_mode & S_IFMT == S_IFREG, let size = Int(exactly: facts.st_size),
            size >= headerSize, let memory = malloc(size)
        else { return nil }
        var isOwned = false
        defer { if !isOwned { free(memory) } }
        var done = 0
        while done < size {
            let count = Foundation.read(descriptor, memory + done, size - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return try entry(UnsafeRawBufferPointer(start: memory, count: size), for: key, cipher: cipher) {
            start in
            guard start < size else { return Data() }
            isOwned = true
            return Data(
                bytesNoCopy: memory + start,
                count: size - start,
                deallocator: .custom { body, _ in free(body - start) }
            )
        }
    }

    /// Reads the entry of a key.
    ///
    /// - Parameters:
    ///   - bytes: All bytes of the file.
    ///   - key: The key.
    ///   - cipher: Opens what is sealed.
    ///   - body: Returns the bytes from a place on, and may take over their memory.
    /// - Returns: The entry, or `nil` if the bytes are damaged, or not of this key and version.
    /// - Throws: An error of the cipher.
    static func entry(
        _ bytes: UnsafeRawBufferPointer,
        for key: CacheKey,
        cipher: (any CacheCipher)? = nil,
        body: (_ start: Int) -> Data
    ) throws -> CacheEntry? {
        func word(_ place: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
        guard bytes.count >= headerSize, word(8) == magic, word(32).byteSwapped == key.words.0,
            word(40).byteSwapped == key.words.1, word(48).byteSwapped == key.words.2,
            word(56).byteSwapped == key.words.3, (word(16) == sealed) == (cipher != nil)
        else { return nil }
        let metadataSize = cipher == nil ? word(16) : 0
        guard metadataSize <= maximumMetadataSize,
            word(24) == UInt64(bytes.count - headerSize) &- metadataSize
        else { return nil }
        let start = headerSize + Int(metadataSize)
        guard start <= bytes.count,
            checksum(
                UnsafeRawBufferPointer(rebasing: bytes[..<start]),
                UnsafeRawBufferPointer(rebasing: bytes[start...])
            ) == word(0)
        else { return nil }
        if let cipher { return CacheEntry(data: try cipher.open(body(start), for: key), for: key) }
        let metadata = UnsafeRawBufferPointer(rebasing: bytes[headerSize..<start])
        // The memory may be gone once the body has it.
        guard var entry = CacheEntry(metadata: metadata, body: Data()) else { return nil }
        entry.body = body(start)
        return entry
    }

    private static func checksum(_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> UInt64 {
        Checksum.of(body, seed: Checksum.of(UnsafeRawBufferPointer(rebasing: head[8...])))
    }
}

/// A type that encrypts stored responses.
///
/// Names of files, sizes and times are not encrypted. Bind the sealed bytes to the entry's key, as additional data of
/// an AEAD, so that one entry cannot be used in place of another.
public protocol CacheCipher: Sendable {
    /// Encrypts bytes before they are stored.
    ///
    /// - Throws: An error, if the entry must not be stored.
    func seal(_ bytes: Data, for key: CacheKey) throws -> Data

    /// Decrypts bytes that ``seal(_:for:)`` returned.
    ///
    /// - Throws: An error, if the entry is not usable; it is a miss, and removed.
    func open(_ bytes: Data, for key: CacheKey) throws -> Data
}

extension CacheEntry {
    /// Returns the entry as the bytes that ``DiskStore`` writes, checksum included, for a store of your own.
    public func data(for key: CacheKey) -> Data {
        let file = EntryFile(self, for: key)
        var data = Data(capacity: file.size)
        data.append(contentsOf: file.head)
        data.append(file.body)
        return data
    }

    /// Creates an entry from ``data(for:)``, or returns `nil` if the bytes are damaged, or belong to another key or
    /// format.
    public init?(data: Data, for key: CacheKey) {
        let entry = data.withUnsafeBytes { bytes in
            // Without a cipher, there is no error.
            try? EntryFile.entry(bytes, for: key) { Data(bytes[$0...]) }
        }
        guard let entry else { return nil }
        self = entry
    }
}

extension iovec {
    fileprivate init(part: UnsafeRawBufferPointer, from place: Int) {
        let rest = UnsafeRawBufferPointer(rebasing: part[place...])
        self.init(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: numericCast(rest.count))
    }
}
