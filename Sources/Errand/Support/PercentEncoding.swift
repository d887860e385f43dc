/// Percent-encoding on bytes, as in RFC 3986.
///
/// Foundation is not used, because one invalid escape makes it encode every `%` of a string again, and its query items
/// keep `+`, which servers read as a space.
package enum PercentEncoding {
    /// Encodes all but the unreserved characters, for names and values in queries and forms, and for path segments.
    package static func escapingComponent(_ text: some StringProtocol) -> String {
        escaping(String(text), keeping: isUnreserved, keepsEscapes: false)
    }

    /// Encodes characters that are not allowed in a path, and keeps all others, including escapes.
    static func escapingPath(_ text: some StringProtocol) -> String {
        escaping(
            String(text),
            keeping: { isUnreserved($0) || isSubDelimiter($0) || "/:@".utf8.contains($0) },
            keepsEscapes: true
        )
    }

    /// Encodes characters that are not allowed in a query, or in a path with its query, and keeps all others, including
    /// escapes.
    static func escapingQuery(_ text: some StringProtocol) -> String {
        escaping(
            String(text),
            keeping: { isUnreserved($0) || isSubDelimiter($0) || "/:@?".utf8.contains($0) },
            keepsEscapes: true
        )
    }

    /// Encodes characters that are not allowed in a reference to a resource (RFC 3986, section 4.1), and keeps all others,
    /// including escapes.
    ///
    /// The scheme and the authority are kept as they are: Foundation parses each component of a URL on its own.
    static func escapingReference(_ text: String) -> String {
        let parts = text.utf8.split(separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
        let (slash, mark, colon) = (UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: ":"))
        let scheme = parts[0].prefix { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
        let hasScheme = scheme.first?.isASCIILetter == true && parts[0].dropFirst(scheme.count).first == colon
        var rest = hasScheme ? parts[0].dropFirst(scheme.count + 1) : parts[0]
        if rest.starts(with: "//".utf8) { rest = rest.dropFirst(2).drop { $0 != slash && $0 != mark } }
        var start = String(decoding: parts[0].prefix(parts[0].count - rest.count), as: UTF8.self)
        // A colon in the first segment would begin after a scheme (section 4.2).
        if !hasScheme, rest.prefix(while: { $0 != slash && $0 != mark }).contains(colon) { start += "./" }
        let fragment = parts.count < 2 ? "" : "#" + escapingQuery(String(decoding: parts[1], as: UTF8.self))
        return start + escapingQuery(String(decoding: rest, as: UTF8.self)) + fragment
    }

    /// Whether a text is a path that needs no encoding and has no query, fragment or escapes.
    static func isPlainPath(_ text: String) -> Bool {
        text.utf8.allSatisfy { isUnreserved($0) || $0 == UInt8(ascii: "/") }
    }

    /// Returns the decoded text of a pair of a query; in forms, a space is a plus sign.
    static func content(ofPair pair: some StringProtocol) -> String {
        (unescaping(pair) ?? String(pair)).replacing("+", with: " ")
    }

    /// Decodes all escapes, or returns `nil` if there are none; bytes that are not UTF-8 become replacement characters.
    static func unescaping(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let isEscape =
                bytes[index] == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].isHexDigit
                && bytes[index + 2].isHexDigit
            result.append(isEscape ? bytes[index + 1].hexValue << 4 | bytes[index + 2].hexValue : bytes[index])
            index += isEscape ? 3 : 1
        }
        return result.count == bytes.count ? nil : String(decoding: result, as: UTF8.self)
    }

    private static func escaping(_ text: String, keeping isKept: (UInt8) -> Bool, keepsEscapes: Bool) -> String {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ $0 != UInt8(ascii: "%") && isKept($0) }) { return text }
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count &* 2)
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                keepsEscapes && byte == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].isHexDigit
                && bytes[index + 2].isHexDigit
            if isEscape || isKept(byte) && byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(digits[Int(byte >> 4)])
                result.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
    }

    private static func isSubDelimiter(_ byte: UInt8) -> Bool { "!$&'()*+,;=".utf8.contains(byte) }
}

extension UInt8 {
    var isASCIILowercase: Bool { self >= 0x61 && self <= 0x7A }
    var isASCIIDigit: Bool { self >= 0x30 && self <= 0x39 }
    var isASCIILetter: Bool { (self | 0x20).isASCIILowercase }
    /// The value of a hexadecimal digit.
    fileprivate var hexValue: UInt8 { isASCIIDigit ? self & 15 : (self & 15) + 9 }
    var isHexDigit: Bool { isASCIIDigit || ((self | 0x20) >= 0x61 && (self | 0x20) <= 0x66) }

    /// Whether the byte is allowed in a method or field name (RFC 9110, section 5.6.2).
    var isTokenCharacter: Bool { isASCIILetter || isASCIIDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
