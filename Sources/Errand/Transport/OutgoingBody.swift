public import Foundation

/// The body of a request.
///
/// It can be read any number of times, for retries and redirects.
public enum OutgoingBody: Sendable {
    /// No body.
    case empty
    /// Bytes in memory.
    case data(Data)
    /// Bytes that are produced while they are sent.
    case source(any BodySource)

    /// The number of bytes, or `nil` if it is known only after reading.
    public var byteCount: Int64? {
        switch self {
        case .empty: 0
        case .data(let data): Int64(data.count)
        case .source(let source): source.byteCount
        }
    }

    /// The bytes if they are in memory, or `nil` for a source.
    public var data: Data? {
        switch self {
        case .empty: Data()
        case .data(let data): data
        case .source: nil
        }
    }

    /// Whether it can be read again, for a retry or a redirect.
    public var isReplayable: Bool { if case .source(let source) = self { source.isReplayable } else { true } }

    var isEmpty: Bool { byteCount == 0 }

    /// Opens a new reader at the first byte.
    ///
    /// The reader of a source fails with ``NetworkError/Reason/invalidRequest(_:)`` if the source does not supply
    /// exactly its ``byteCount``, before it returns the last byte.
    ///
    /// - Throws: What a source throws.
    public func makeReader() throws -> any BodyReader {
        switch self {
        case .empty: DataReader(Data())
        case .data(let data): DataReader(data)
        case .source(let source): CheckedReader(try source.makeReader(), byteCount: source.byteCount)
        }
    }

    /// The same body with its current length, which is stated once although a source may change.
    public var measured: OutgoingBody {
        guard case .source(let source) = self else { return self }
        return .source(MeasuredSource(base: source, byteCount: source.byteCount))
    }

    /// Throws if the length is negative.
    func validateLength() throws(NetworkError) {
        guard let byteCount, byteCount < 0 else { return }
        throw NetworkError(
            .unencodable("the length of the body is negative, \(byteCount); if it is not known, it is nil")
        )
    }
}

/// A type that supplies a body from its start, by default any number of times.
public protocol BodySource: Sendable {
    /// The number of bytes that a reader supplies, or `nil` if it is known only after reading. The body is then sent in chunks.
    ///
    /// If a reader supplies fewer or more bytes, the attempt fails with ``NetworkError/Reason/invalidRequest(_:)``.
    var byteCount: Int64? { get }

    /// Opens a new reader at the first byte.
    ///
    /// - Returns: A separate reader. Several readers of one source may be in use at the same time.
    /// - Throws: An error that ends the send and reaches its caller unchanged.
    func makeReader() throws -> any BodyReader

    /// Whether a second reader supplies the same bytes. The default is `true`. If `false`, the body is sent once: without
    /// retries, and without redirects that would need it again.
    var isReplayable: Bool { get }
}

extension BodySource {
    /// Returns `true`, which is the default.
    public var isReplayable: Bool { true }
}

/// One pass over a body.
///
/// A reader is called on the queue that all transfers of the process share, or with `CurlTransport` on the thread of all
/// transfers of that transport: it may read memory and local files, and must never wait for anything else. That thread has
/// a stack of 512 KiB.
public protocol BodyReader: AnyObject {
    /// Fills a buffer from its start.
    ///
    /// - Parameter buffer: The buffer to fill, never empty.
    /// - Returns: The number of bytes written, at least 1, or 0 at the end.
    /// - Throws: An error that ends the send and reaches its caller unchanged.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// A source with the length that it had when its request was about to be sent.
private struct MeasuredSource: BodySource {
    let base: any BodySource
    let byteCount: Int64?

    var isReplayable: Bool { base.isReplayable }
    func makeReader() throws -> any BodyReader { try base.makeReader() }
}

/// A reader of a source that must supply exactly as many bytes as the source's length.
///
/// It fails before it passes on the last byte, so that a body of another length is never complete.
private final class CheckedReader: BodyReader {
    private let base: any BodyReader
    private let byteCount: Int64?
    private var done: Int64 = 0

    init(_ base: any BodyReader, byteCount: Int64?) { (self.base, self.byteCount) = (base, byteCount) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let byteCount else { return try next(into: buffer) }
        guard done < byteCount else { return 0 }
        let count = try next(into: buffer)
        done += Int64(count)
        guard count > 0 else { throw mismatch(of: byteCount, "only \(done)") }
        guard done <= byteCount else { throw mismatch(of: byteCount, "at least \(done)") }
        if done == byteCount {
            var further: UInt8 = 0
            guard try withUnsafeMutableBytes(of: &further, next) == 0 else {
                throw mismatch(of: byteCount, "more than \(done)")
            }
        }
        return count
    }

    private func mismatch(of byteCount: Int64, _ actual: String) -> NetworkError {
        NetworkError(
            .invalidRequest(
                "the byteCount of \(byteCount) of the body is wrong; correct it, or omit it: its source supplied \(actual) bytes"
            )
        )
    }

    private func next(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try base.read(into: buffer)
        guard 0...buffer.count ~= count else {
            throw NetworkError(.bodyUnreadable("a reader of the request's body returned an impossible count"))
        }
        return count
    }
}

/// A reader of a body that is in memory.
private final class DataReader: BodyReader {
    private var rest: Data

    init(_ data: Data) { rest = data }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = min(buffer.count, rest.count)
        guard count > 0 else { return 0 }
        rest.prefix(count).withUnsafeBytes { buffer.copyMemory(from: $0) }
        rest = rest.dropFirst(count)
        return count
    }
}

/// A body whose chunks a closure returns.
struct ChunkSource: BodySource {
    let byteCount: Int64?
    let isReplayable: Bool
    /// Starts at the first chunk; the closure that it returns has no more chunks when it returns `nil`.
    let makeChunks: @Sendable () throws -> () throws -> Data?

    func makeReader() throws -> any BodyReader { Reader(try makeChunks()) }

    private final class Reader: BodyReader {
        private var nextChunk: (() throws -> Data?)?
        private var rest = Data()

        init(_ nextChunk: @escaping () throws -> Data?) { self.nextChunk = nextChunk }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            while rest.isEmpty {
                guard let chunk = try nextChunk?() else {
                    nextChunk = nil
                    return 0
                }
                rest = chunk
            }
            let count = min(buffer.count, rest.count)
            rest.prefix(count).withUnsafeBytes { buffer.copyMemory(from: $0) }
            rest = rest.dropFirst(count)
            return count
        }
    }
}
