public import Foundation

/// The bytes that follow a request's head; they can be read any number of times, for retries and redirects.
public enum OutgoingBody: Sendable {
    /// No body.
    case empty
    /// Bytes in memory.
    case data(Data)
    /// Bytes that are made while they are sent.
    case source(any BodySource)

    /// How many bytes it has, or `nil` when only reading it tells.
    public var byteCount: Int64? {
        switch self {
        case .empty: 0
        case .data(let data): Int64(data.count)
        case .source(let source): source.byteCount
        }
    }

    /// The bytes, where they are in memory; `nil` for a source.
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
    func makeReader() throws -> any BodyReader {
        switch self {
        case .empty: DataReader(Data())
        case .data(let data): DataReader(data)
        case .source(let source): try source.makeReader()
        }
    }
}

/// A body that can be read from its start again and again, unless it says otherwise.
public protocol BodySource: Sendable {
    /// How many bytes a reader gives, or `nil` when only reading tells; then the body is sent in chunks.
    var byteCount: Int64? { get }

    /// Opens a new reader at the first byte.
    ///
    /// - Returns: A reader of its own; readers of one source may be in use at the same time.
    /// - Throws: What fails the attempt as ``NetworkError/Reason/bodyUnreadable``.
    func makeReader() throws -> any BodyReader

    /// Whether a second reader gives the same bytes; `true` unless you say otherwise. A body that does not is sent
    /// once: no retry, and no redirect that would need it again.
    var isReplayable: Bool { get }
}

extension BodySource {
    /// `true`: what can open a reader twice gives the same bytes twice.
    public var isReplayable: Bool { true }
}

/// One pass over a body.
///
/// A reader is called on the queue that all transfers of the process share: it may read memory and local files, and
/// must never wait for somebody.
public protocol BodyReader: AnyObject {
    /// Fills a buffer from its start.
    ///
    /// - Parameter buffer: Where the bytes go; never empty.
    /// - Returns: How many bytes were written, 1 at least; 0 at the end.
    /// - Throws: What fails the attempt as ``NetworkError/Reason/bodyUnreadable``.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Reads a body that is in memory.
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
