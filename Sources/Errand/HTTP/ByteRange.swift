/// The range of bytes that a `Range` field requests (RFC 9110, section 14.1.2).
///
/// Positions that don't fit an `Int` are treated as the largest one: no content is as long.
enum ByteRange: Sendable, Hashable {
    /// The bytes from a position, through another one or through the last.
    case from(Int, through: Int?)
    /// The last bytes, at most this many.
    case suffix(Int)

    /// Reads the value of a `Range` field, or returns `nil` if it is not a single range of bytes.
    ///
    /// A field that is invalid, has another unit, or requests several ranges, is for the server to interpret.
    init?(_ text: some StringProtocol) {
        var cursor = FieldCursor(text)
        guard text.utf8.count <= ContentRange.maximumByteCount, cursor.take("bytes", ignoringCase: true),
            cursor.take(UInt8(ascii: "="))
        else { return nil }
        cursor.skipSpace()
        if cursor.take(UInt8(ascii: "-")) {
            guard let count = cursor.number(clamping: true) else { return nil }
            self = .suffix(count)
        } else {
            guard let first = cursor.number(clamping: true), cursor.take(UInt8(ascii: "-")) else { return nil }
            let last = cursor.number(clamping: true)
            if let last, last < first { return nil }
            self = .from(first, through: last)
        }
        cursor.skipSpace()
        guard cursor.isAtEnd else { return nil }
    }

    /// Returns the positions of a content of this length, or `nil` if it has none of them (RFC 9110, section 14.1.2).
    func positions(in length: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            // The last position is included, and may be the largest number.
            return first..<(last.map { $0 < length - 1 ? $0 + 1 : length } ?? length)
        case .suffix(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

/// The value of a `Content-Range` field with a range of bytes (RFC 9110, section 14.4).
struct ContentRange: Sendable, Hashable, CustomStringConvertible {
    /// The positions of the first byte and of the one after the last; never empty.
    let positions: Range<Int>
    /// The length of the complete content, or `nil` if it is unknown (`*`).
    let completeLength: Int?

    /// The longest value that is read; a longer one is invalid.
    fileprivate static let maximumByteCount = 256

    init(_ positions: Range<Int>, of completeLength: Int?) {
        (self.positions, self.completeLength) = (positions, completeLength)
    }

    /// Reads a value, or returns `nil` if it is invalid, as a range that exceeds the length or a number that doesn't fit
    /// an `Int`.
    init?(_ text: some StringProtocol) {
        var cursor = FieldCursor(text)
        guard text.utf8.count <= ContentRange.maximumByteCount, cursor.take("bytes", ignoringCase: true),
            cursor.take(0x20), let first = cursor.number(),
            cursor.take(UInt8(ascii: "-")), let last = cursor.number(), first <= last, last < .max,
            cursor.take(UInt8(ascii: "/"))
        else { return nil }
        positions = first..<last + 1
        if cursor.take(UInt8(ascii: "*")) {
            completeLength = nil
        } else {
            guard let length = cursor.number(), last < length else { return nil }
            completeLength = length
        }
        guard cursor.isAtEnd else { return nil }
    }

    /// The value of the field.
    var description: String {
        "bytes \(positions.lowerBound)-\(positions.upperBound - 1)/\(completeLength.map(String.init) ?? "*")"
    }
}
