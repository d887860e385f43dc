internal import Foundation

/// Splits a body that arrives in chunks into lines, reading each byte once or twice.
struct LineSplitter: Sendable {
    enum Terminator: Sendable {
        /// LF, or CR and LF.
        case lineFeed
        /// LF, CR, or CR and LF.
        case any
    }

    /// The maximum size of a line by default: 16 MiB.
    static let standardLimit = 16 << 20

    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

    private let terminator: Terminator
    private let limit: Int
    /// The beginning of a line that ends in a later chunk.
    private(set) var pending = Data()
    private var chunk = Data()
    /// The number of bytes of the chunk that were read.
    private var position = 0
    /// Whether the last line ended with a CR, so that a following LF belongs to it.
    private var skipsLineFeed = false
    /// The number of lines so far.
    private(set) var count = 0

    /// - Parameters:
    ///   - terminator: What ends a line.
    ///   - limit: The maximum number of bytes of a line, without its end.
    init(at terminator: Terminator, limit: Int) {
        self.terminator = terminator
        self.limit = max(0, limit)
    }

    /// Adds bytes, after ``next()`` has returned `nil`.
    mutating func append(_ bytes: Data) { (chunk, position) = (bytes, 0) }

    /// Returns the next line without its end, or `nil` if more bytes are needed.
    ///
    /// - Throws: ``NetworkError/Reason/tooLarge(_:)``.
    mutating func next() throws(NetworkError) -> Data? {
        while true {
            guard position < chunk.count else { return nil }
            let (count, found) = chunk.withUnsafeBytes { bytes -> (Int, UInt8?) in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
                let end =
                    terminator == .any
                    ? rest.firstIndex { $0 == Self.lf || $0 == Self.cr } : rest.firstIndex(of: Self.lf)
                return (end ?? rest.count, end.map { rest[$0] })
            }
            let start = chunk.startIndex + position
            position += count + (found == nil ? 0 : 1)
            if skipsLineFeed {
                skipsLineFeed = false
                if count == 0, found == Self.lf { continue }
            }
            let piece = chunk[start..<start + count]
            // A CR at the end may belong to the end of the line.
            let isOneMore = terminator == .lineFeed && (piece.last ?? pending.last) == Self.cr
            guard count - (isOneMore ? 1 : 0) <= limit - pending.count else {
                throw NetworkError(.lineTooLong(limit: limit))
            }
            guard let found else {
                pending.append(piece)
                return nil
            }
            skipsLineFeed = found == Self.cr
            return takeLine(endingWith: piece)
        }
    }

    /// Returns the last line if the body does not end with the end of one, or `nil`.
    ///
    /// - Throws: ``NetworkError/Reason/tooLarge(_:)``.
    mutating func last() throws(NetworkError) -> Data? {
        guard !pending.isEmpty else { return nil }
        // A CR at the end belongs to the line if no LF follows.
        guard pending.count <= limit else { throw NetworkError(.lineTooLong(limit: limit)) }
        defer { pending = Data() }
        count += 1
        return pending
    }

    private mutating func takeLine(endingWith piece: Data) -> Data {
        var line = piece
        if !pending.isEmpty {
            pending.append(piece)
            line = pending
            pending = Data()
        }
        if terminator == .lineFeed, line.last == Self.cr { line = line.dropLast() }
        count += 1
        return line
    }
}
