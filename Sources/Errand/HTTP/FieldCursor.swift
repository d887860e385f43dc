/// Reads the value of a header field from its beginning to its end (RFC 9110, section 5.6), each byte once.
///
/// A part that is absent is not read, so that callers decide about text that does not follow the grammar.
struct FieldCursor {
    private let bytes: [UInt8]
    private(set) var place = 0
    /// Whether a quoted string did not end.
    private(set) var hasOpenQuote = false

    init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { place == bytes.count }

    /// The next byte, or `nil` at the end.
    var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Returns the text between a place and the current one.
    func text(from start: Int) -> String { String(decoding: bytes[start..<place], as: UTF8.self) }

    @inline(__always)
    mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while place < bytes.count, isSkipped(bytes[place]) { place += 1 }
    }

    /// Skips spaces and tabs, and returns whether there were any.
    @discardableResult
    mutating func skipSpace() -> Bool {
        let start = place
        skip(while: \.isFieldSpace)
        return place > start
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    mutating func take(_ text: StaticString, ignoringCase: Bool = false) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        let isThere =
            bytes.count - place >= wanted.count
            && zip(bytes[place...], wanted).allSatisfy { $0 == $1 || ignoringCase && $0 | 0x20 == $1 }
        if isThere { place += wanted.count }
        return isThere
    }

    /// Reads bytes as long as they satisfy a condition, possibly none.
    @inline(__always)
    mutating func text(while isPart: (UInt8) -> Bool) -> String {
        let start = place
        skip(while: isPart)
        return text(from: start)
    }

    /// Reads a token, which is empty if there is none (RFC 9110, section 5.6.2).
    mutating func token() -> String { text(while: \.isTokenCharacter) }

    /// Reads a quoted string, unescaped (RFC 9110, section 5.6.4), or text up to a separator, without white space around it.
    ///
    /// - Parameters:
    ///   - separators: The bytes that end an unquoted text.
    ///   - keepsPaths: Whether a backslash remains before anything but a quotation mark or a backslash.
    /// - Returns: The text. If a quoted string does not end, all that is left, and ``hasOpenQuote`` is set.
    mutating func value(upTo separators: StaticString, keepsPaths: Bool = false) -> String {
        skipSpace()
        guard take(UInt8(ascii: "\"")) else {
            let ends = UnsafeBufferPointer(start: separators.utf8Start, count: separators.utf8CodeUnitCount)
            return text { !ends.contains($0) }.withoutSurroundingSpace
        }
        var value: [UInt8] = []
        while var byte = next {
            place += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), let escaped = next, !keepsPaths || escaped == 0x22 || escaped == 0x5C {
                byte = escaped
                place += 1
            }
            value.append(byte)
        }
        hasOpenQuote = true
        return String(decoding: value, as: UTF8.self)
    }

    /// Skips to the next separator, but not to one in a quoted string or, if they count, in angle brackets.
    ///
    /// - Returns: Whether there is one.
    @discardableResult
    mutating func skip(to separator: UInt8, quotes: Bool = true, brackets: Bool = false) -> Bool {
        var closing: UInt8?
        while place < bytes.count {
            let byte = bytes[place]
            if let end = closing {
                if byte == end { closing = nil }
                if byte == UInt8(ascii: "\\"), end == UInt8(ascii: "\"") { place = min(place + 1, bytes.count - 1) }
            } else if byte == separator {
                return true
            } else if quotes, byte == UInt8(ascii: "\"") {
                closing = byte
            } else if brackets, byte == UInt8(ascii: "<") {
                closing = UInt8(ascii: ">")
            }
            place += 1
        }
        return false
    }

    /// Returns the parts between separators outside quoted strings, without white space around them; at least one.
    static func parts(of text: some StringProtocol, at separator: UInt8) -> [String] {
        var cursor = FieldCursor(text)
        var parts: [String] = []
        while true {
            let start = cursor.place
            let hasMore = cursor.skip(to: separator)
            parts.append(cursor.text(from: start).withoutSurroundingSpace)
            guard hasMore else { return parts }
            cursor.place += 1
        }
    }

    /// Reads digits, or returns `nil` if there are none or, unless it is clamped, the number does not fit.
    mutating func number(clamping: Bool = false) -> Int? {
        let start = place
        var value = 0
        while let byte = next, byte.isASCIIDigit {
            let (product, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(Int(byte - 0x30))
            guard clamping || !(isLarge || isLarger) else { return nil }
            value = isLarge || isLarger ? .max : sum
            place += 1
        }
        return place == start ? nil : value
    }
}

extension UInt8 {
    var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
}
