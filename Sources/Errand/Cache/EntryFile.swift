public import Foundation

/// The bytes of an entry, in a file or in a store of your own.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | magic |
/// | 8 | 2 | format version |
/// | 10 | 2 | 1 if the bytes after the header are sealed by a ``CacheCipher``, else 0 |
/// | 12 | 4 | length of the metadata; 0 if sealed |
/// | 16 | 8 | length of the body, or of all sealed bytes |
/// | 24 | 32 | key |
/// | 56 | 8 | checksum of everything else |
/// | 64 | | metadata as JSON, then the body |
///
/// Numbers are little-endian.
enum EntryFile {
    static let headerSize = 64
    static let version: UInt16 = 1
    /// Not text, and changed by every transfer that treats it as text.
    private static let magic: UInt64 = 0x0A0D_4352_45E7_1A89
    /// More than any header section that a transport accepts.
    static let maximumMetadataSize = 4 << 20

    /// The contents of a header, before the checksum is verified.
    struct Header {
        let isSealed: Bool
        let metadataSize: Int
        let bodySize: Int
        let checksum: UInt64
    }

    /// Returns the header of a file.
    @inline(never)
    static func header(
        for key: CacheKey,
        metadata: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer,
        isSealed: Bool
    ) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: headerSize)
        header.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: magic.littleEndian, toByteOffset: 0, as: UInt64.self)
            bytes.storeBytes(of: version.littleEndian, toByteOffset: 8, as: UInt16.self)
            bytes.storeBytes(of: UInt16(isSealed ? 1 : 0).littleEndian, toByteOffset: 10, as: UInt16.self)
            bytes.storeBytes(of: UInt32(metadata.count).littleEndian, toByteOffset: 12, as: UInt32.self)
            bytes.storeBytes(of: UInt64(body.count).littleEndian, toByteOffset: 16, as: UInt64.self)
            let words = key.words
            for (place, word) in [words.0, words.1, words.2, words.3].enumerated() {
                bytes.storeBytes(of: word.bigEndian, toByteOffset: 24 + 8 * place, as: UInt64.self)
            }
            let sum = checksum(UnsafeRawBufferPointer(bytes), metadata, body)
            bytes.storeBytes(of: sum.littleEndian, toByteOffset: 56, as: UInt64.self)
        }
        return header
    }

    /// Reads a header; returns `nil` if it is not of this version, for this key and a file of this size.
    static func header(_ bytes: UnsafeRawBufferPointer, for key: CacheKey, fileSize: Int) -> Header? {
        guard bytes.count >= headerSize, word(bytes, 0) == magic else { return nil }
        let kind = word(bytes, 8)
        guard UInt16(truncatingIfNeeded: kind) == version, kind >> 16 & 0xFFFF <= 1 else { return nil }
        let words = key.words
        guard word(bytes, 24).byteSwapped == words.0, word(bytes, 32).byteSwapped == words.1,
            word(bytes, 40).byteSwapped == words.2, word(bytes, 48).byteSwapped == words.3
        else { return nil }
        let metadataSize = Int(clamping: kind >> 32)
        guard metadataSize <= maximumMetadataSize, let bodySize = Int(exactly: word(bytes, 16)),
            bodySize <= fileSize, headerSize + metadataSize == fileSize - bodySize
        else { return nil }
        return Header(
            isSealed: kind >> 16 & 1 == 1,
            metadataSize: metadataSize,
            bodySize: bodySize,
            checksum: word(bytes, 56)
        )
    }

    /// Returns the checksum of a file, over all bytes but itself.
    static func checksum(
        _ header: UnsafeRawBufferPointer,
        _ metadata: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer
    ) -> UInt64 {
        let head = Checksum.of(UnsafeRawBufferPointer(rebasing: header[..<56]))
        return Checksum.of(body, seed: Checksum.of(metadata, seed: head))
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
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
        let metadata = metadata
        return metadata.withUnsafeBytes { metadata in
            body.withUnsafeBytes { body in
                var data = Data(EntryFile.header(for: key, metadata: metadata, body: body, isSealed: false))
                data.append(contentsOf: metadata)
                data.append(contentsOf: body)
                return data
            }
        }
    }

    /// Creates an entry from ``data(for:)``, or returns `nil` if the bytes are damaged, or those of another key or
    /// format.
    public init?(data: Data, for key: CacheKey) {
        let entry = data.withUnsafeBytes { bytes -> CacheEntry? in
            guard let header = EntryFile.header(bytes, for: key, fileSize: bytes.count), !header.isSealed else {
                return nil
            }
            let metadata = bytes[EntryFile.headerSize..<EntryFile.headerSize + header.metadataSize]
            let body = UnsafeRawBufferPointer(rebasing: bytes[metadata.endIndex...])
            let head = UnsafeRawBufferPointer(rebasing: metadata)
            guard EntryFile.checksum(bytes, head, body) == header.checksum else { return nil }
            return CacheEntry(metadata: head, body: Data(body))
        }
        guard let entry else { return nil }
        self = entry
    }
}
