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
        var reader = RangeReader(text)
        guard reader.take("bytes", ignoringCase: true), reader.take("=") else { return nil }
        reader.skipSpace()
        if reader.take("-") {
            guard let count = reader.number(clamping: true) else { return nil }
            self = .suffix(count)
        } else {
            guard let first = reader.number(clamping: true), reader.take("-") else { return nil }
            let last = reader.number(clamping: true)
            if let last, last < first { return nil }
            self = .from(first, through: last)
        }
        reader.skipSpace()
        guard reader.isAtEnd else { return nil }
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

    init(_ positions: Range<Int>, of completeLength: Int?) {
        (self.positions, self.completeLength) = (positions, completeLength)
    }

    /// Reads a value, or returns `nil` if it is invalid, as a range that exceeds the length or a number that doesn't fit
    /// an `Int`.
    init?(_ text: some StringProtocol) {
        var reader = RangeReader(text)
        guard reader.take("bytes", ignoringCase: true), reader.take(" "), let first = reader.number(),
            reader.take("-"), let last = reader.number(), first <= last, last < .max, reader.take("/")
        else { return nil }
        positions = first..<last + 1
        if reader.take("*") {
            completeLength = nil
        } else {
            guard let length = reader.number(), last < length else { return nil }
            completeLength = length
        }
        guard reader.isAtEnd else { return nil }
    }

    /// The value of the field.
    var description: String {
        "bytes \(positions.lowerBound)-\(positions.upperBound - 1)/\(completeLength.map(String.init) ?? "*")"
    }
}

private struct RangeReader {
    private var rest: ArraySlice<UInt8>

    /// The longest value that is read; a longer one is invalid.
    private static let maximumSize = 256

    init(_ text: some StringProtocol) {
        let bytes = Array(text.utf8.prefix(Self.maximumSize + 1))
        rest = bytes.count <= Self.maximumSize ? bytes[...] : []
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ text: StaticString, ignoringCase: Bool = false) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard rest.count >= wanted.count else { return false }
        for (byte, other) in zip(rest, wanted) {
            guard byte == other || ignoringCase && byte | 0x20 == other else { return false }
        }
        rest = rest.dropFirst(wanted.count)
        return true
    }

    mutating func skipSpace() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    /// Reads digits, or returns `nil` if there are none or the number doesn't fit.
    mutating func number(clamping: Bool = false) -> Int? {
        var (value, count) = (0, 0)
        while let byte = rest.first, (0x30...0x39).contains(byte) {
            let (product, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(Int(byte - 0x30))
            if isLarge || isLarger {
                guard clamping else { return nil }
                value = .max
            } else {
                value = sum
            }
            (rest, count) = (rest.dropFirst(), count + 1)
        }
        return count == 0 ? nil : value
    }
}
