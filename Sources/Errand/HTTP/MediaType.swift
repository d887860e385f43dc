/// A media type with its charset (RFC 9110, section 8.3.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The lowercase type and subtype, such as `application/json`.
    public let essence: String
    /// The lowercase `charset` parameter, or `nil` if there is none.
    public let charset: String?

    /// Creates a media type from the value of a `Content-Type` field, or returns `nil` if it has no type and subtype.
    public init?(_ fieldValue: String) {
        let parts = Self.parts(of: fieldValue)
        let first = parts[0]
        let names = first.trimmingHTTPSpace().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isTokenCharacter) }) else {
            return nil
        }
        essence = first.trimmingHTTPSpace().lowercasedText
        charset = parts.dropFirst().lazy.compactMap(Self.charset).first
    }

    /// Returns the texts between semicolons that are not part of a quoted string (RFC 9110, section 5.6.4).
    private static func parts(of fieldValue: String) -> [Substring.UTF8View] {
        let bytes = fieldValue.utf8
        let quote = UInt8(ascii: "\"")
        guard bytes.contains(quote) else {
            return bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        }
        var parts: [Substring.UTF8View] = []
        var (start, isQuoted, isEscaped) = (bytes.startIndex, false, false)
        for place in bytes.indices {
            let byte = bytes[place]
            if isEscaped {
                isEscaped = false
            } else if byte == quote {
                isQuoted.toggle()
            } else if isQuoted {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ";") {
                parts.append(bytes[start..<place])
                start = bytes.index(after: place)
            }
        }
        return parts + [bytes[start...]]
    }

    /// Returns the value of a `charset` parameter, quoted or not, or `nil` for any other.
    private static func charset(in parameter: Substring.UTF8View) -> String? {
        guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
            parameter[..<equals].trimmingHTTPSpace().lowercasedText == "charset"
        else { return nil }
        let quote = UInt8(ascii: "\"")
        var value = parameter[parameter.index(after: equals)...].trimmingHTTPSpace()
        if value.first == quote { value = value.dropFirst() }
        if value.last == quote { value = value.dropLast() }
        return value.isEmpty ? nil : value.lowercasedText
    }

    /// Whether the type is JSON: `application/json`, `text/json` or any `+json`.
    public var isJSON: Bool { essence == "application/json" || essence.hasSuffix("+json") || essence == "text/json" }

    /// The type as the value of a `Content-Type` field.
    public var description: String { charset.map { "\(essence); charset=\($0)" } ?? essence }
}

extension Substring.UTF8View {
    /// Returns the text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    func trimmingHTTPSpace() -> Substring.UTF8View {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var rest = self[...]
        while let first = rest.first, isSpace(first) { rest = rest.dropFirst() }
        while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
        return rest
    }

    fileprivate var lowercasedText: String { Substring(self).lowercased() }
}
