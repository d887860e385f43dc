/// A media type with its charset (RFC 9110, section 8.3.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The lowercase type and subtype, such as `application/json`.
    public let essence: String
    /// The lowercase `charset` parameter, or `nil` if there is none.
    public let charset: String?

    /// Creates a media type from the value of a `Content-Type` field, or returns `nil` if it has no type and subtype.
    public init?(_ fieldValue: String) {
        var cursor = FieldCursor(fieldValue)
        cursor.skipSpace()
        let start = cursor.place
        cursor.skip(while: \.isTokenCharacter)
        let slash = cursor.place
        guard slash > start, cursor.take(UInt8(ascii: "/")) else { return nil }
        cursor.skip(while: \.isTokenCharacter)
        guard cursor.place > slash + 1 else { return nil }
        essence = cursor.text(from: start).lowercased()
        cursor.skipSpace()
        guard cursor.isAtEnd || cursor.next == UInt8(ascii: ";") else { return nil }
        charset = Self.charset(&cursor)
    }

    /// Reads parameters up to the first `charset` with a value, quoted or not.
    private static func charset(_ cursor: inout FieldCursor) -> String? {
        while cursor.skip(to: UInt8(ascii: ";")) {
            cursor.skip { $0.isFieldSpace || $0 == UInt8(ascii: ";") }
            let name = cursor.token()
            cursor.skipSpace()
            guard name.isSameFieldName(as: "charset"), cursor.take(UInt8(ascii: "=")) else { continue }
            let value = cursor.value(upTo: ";")
            if !value.isEmpty { return value.lowercased() }
        }
        return nil
    }

    /// Whether the type is JSON: `application/json`, `text/json` or any `+json`.
    public var isJSON: Bool { essence == "application/json" || essence.hasSuffix("+json") || essence == "text/json" }

    /// The type as the value of a `Content-Type` field.
    public var description: String { charset.map { "\(essence); charset=\($0)" } ?? essence }
}

extension Substring.UTF8View {
    /// Returns the text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    func trimming(_ isTrimmed: (UInt8) -> Bool = \.isFieldSpace) -> Substring.UTF8View {
        let rest = drop(while: isTrimmed)
        let end = rest.lastIndex { !isTrimmed($0) }.map { rest.index(after: $0) } ?? rest.startIndex
        return rest[..<end]
    }
}
