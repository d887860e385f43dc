internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Reads one file: the start, with all of a small file, in one call, then the rest of the body into its final memory.
struct EntryReader {
    let descriptor: Int32
    let key: CacheKey
    var cipher: (any CacheCipher)?
    /// The size in bytes above which a file is not read: a header may state any size, and it is allocated before the
    /// checksum can be verified.
    var maximumSize = Int.max

    /// The size of the first read, enough for the metadata of nearly every response, and for a small body.
    private static let firstSize = 4096

    /// Reads all of the file.
    ///
    /// - Returns: The entry and the time of the file, or `nil` if the file is not a valid one of the key.
    /// - Throws: An error of the cipher.
    func entry() throws -> (CacheEntry, changed: Int64)? {
        try withStart { header, start, changed in try entry(header, start).map { ($0, changed) } }
    }

    /// Returns the size that the file was written with, or `nil` if it has another one now, or is not one of the key.
    func writtenSize() -> Int? {
        withStart { header, _, _ in EntryFile.headerSize + header.metadataSize + header.bodySize }
    }

    /// Returns the time at which the response was requested, or `nil` if the file is damaged; a body that is not encrypted is
    /// neither read nor verified.
    func requested() -> Date? {
        // An error of the cipher is damage, too.
        try? withStart { header, start, _ in
            let end = EntryFile.headerSize + header.metadataSize
            guard !header.isSealed, end <= start.count else { return try entry(header, start)?.requested }
            let metadata = UnsafeRawBufferPointer(rebasing: start[EntryFile.headerSize..<end])
            return CacheEntry(metadata: metadata, body: Data())?.requested
        }
    }

    /// Calls a closure with the header, the first bytes and the time of the file, unless it is not a valid one of the key.
    @inline(__always)
    private func withStart<Value>(
        _ body: (EntryFile.Header, UnsafeRawBufferPointer, _ changed: Int64) throws -> Value?
    ) rethrows -> Value? {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        let size = Int(clamping: facts.st_size)
        guard size <= maximumSize else { return nil }
        return try withUnsafeTemporaryAllocation(byteCount: Self.firstSize, alignment: 8) { buffer in
            let start = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(size, Self.firstSize)])
            guard fill(start), let header = EntryFile.header(UnsafeRawBufferPointer(start), for: key, fileSize: size)
            else { return nil }
            return try body(header, UnsafeRawBufferPointer(start), facts.changed)
        }
    }

    private func entry(_ header: EntryFile.Header, _ start: UnsafeRawBufferPointer) throws -> CacheEntry? {
        let bodyStart = EntryFile.headerSize + header.metadataSize
        guard bodyStart <= start.count else { return try longEntry(header, start) }
        let metadata = UnsafeRawBufferPointer(rebasing: start[EntryFile.headerSize..<bodyStart])
        return try finish(header, start, metadata, rest: UnsafeRawBufferPointer(rebasing: start[bodyStart...]))
    }

    /// Reads an entry whose metadata is larger than the first read.
    private func longEntry(_ header: EntryFile.Header, _ start: UnsafeRawBufferPointer) throws -> CacheEntry? {
        let known = UnsafeRawBufferPointer(rebasing: start[EntryFile.headerSize...])
        let metadata = UnsafeMutableRawBufferPointer.allocate(byteCount: header.metadataSize, alignment: 8)
        defer { metadata.deallocate() }
        metadata.copyMemory(from: known)
        guard fill(UnsafeMutableRawBufferPointer(rebasing: metadata[known.count...])) else { return nil }
        return try finish(
            header,
            start,
            UnsafeRawBufferPointer(metadata),
            rest: UnsafeRawBufferPointer(start: nil, count: 0)
        )
    }

    private func finish(
        _ header: EntryFile.Header,
        _ start: UnsafeRawBufferPointer,
        _ metadata: UnsafeRawBufferPointer,
        rest: UnsafeRawBufferPointer
    ) throws -> CacheEntry? {
        guard header.bodySize > 0 else {
            return try entry(header, start, metadata, UnsafeRawBufferPointer(start: nil, count: 0)) { Data() }
        }
        // Not mapped: if another process truncated a mapped file, this one would crash.
        guard let memory = malloc(header.bodySize) else { return nil }
        let body = UnsafeMutableRawBufferPointer(start: memory, count: header.bodySize)
        var isOwned = false
        defer { if !isOwned { free(memory) } }
        body.copyMemory(from: rest)
        guard fill(UnsafeMutableRawBufferPointer(rebasing: body[rest.count...])) else { return nil }
        return try entry(header, start, metadata, UnsafeRawBufferPointer(body)) {
            isOwned = true
            return Data(bytesNoCopy: memory, count: body.count, deallocator: .free)
        }
    }

    private func entry(
        _ header: EntryFile.Header,
        _ start: UnsafeRawBufferPointer,
        _ metadata: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer,
        _ data: () -> Data
    ) throws -> CacheEntry? {
        guard EntryFile.checksum(start, metadata, body) == header.checksum, header.isSealed == (cipher != nil) else {
            return nil
        }
        guard let cipher else { return CacheEntry(metadata: metadata, body: data()) }
        let opened = try cipher.open(data(), for: key)
        return CacheEntry(unsealed: opened)
    }

    /// Reads until a buffer is full; returns `false` if the file ends before, or cannot be read.
    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var done = 0
        while done < buffer.count, let start = buffer.baseAddress {
            let count = read(descriptor, start + done, buffer.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }
}

extension CacheEntry {
    /// The bytes that a cipher seals: the length of the metadata, the metadata, the body.
    var unsealed: Data {
        let metadata = metadata
        var data = Data(capacity: metadata.count + body.count + 4)
        withUnsafeBytes(of: UInt32(metadata.count).littleEndian) { data.append(contentsOf: $0) }
        data.append(contentsOf: metadata)
        data.append(body)
        return data
    }

    init?(unsealed: Data) {
        let entry = unsealed.withUnsafeBytes { bytes -> CacheEntry? in
            guard bytes.count >= 4 else { return nil }
            let size = Int(clamping: UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
            guard size <= bytes.count - 4 else { return nil }
            let metadata = UnsafeRawBufferPointer(rebasing: bytes[4..<4 + size])
            return CacheEntry(metadata: metadata, body: Data(bytes[(4 + size)...]))
        }
        guard let entry else { return nil }
        self = entry
    }
}
