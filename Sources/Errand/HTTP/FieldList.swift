/// The header fields whose lines a transport may have joined although a comma doesn't always separate their values.
///
/// Each line is read once. Text that doesn't follow the grammar remains part of the value before it.
enum FieldList {
    /// `Set-Cookie` (RFC 6265, section 4.1), whose lines only URLSession joins.
    case cookies
    /// `WWW-Authenticate` and `Proxy-Authenticate` (RFC 9110, section 11.6.1).
    case challenges
    /// `Link` (RFC 8288, section 3).
    case links

    /// Creates the grammar of a field whose lines may contain several values over any transport, or returns `nil`.
    init?(_ name: String) {
        switch name.utf8.count {
        case 4 where name.isSameFieldName(as: "Link"): self = .links
        case 16 where name.isSameFieldName(as: "WWW-Authenticate"): self = .challenges
        case 18 where name.isSameFieldName(as: "Proxy-Authenticate"): self = .challenges
        default: return nil
        }
    }

    /// Returns the values of a line, without surrounding white space.
    func values(of line: String) -> [String] {
        let comma = UInt8(ascii: ",")
        guard line.utf8.contains(comma) else { return [line] }
        var values: [String] = []
        var cursor = FieldCursor(line)
        var start = 0
        func end() {
            let value = cursor.text(from: start).utf8[...].trimming { $0.isFieldSpace || $0 == comma }
            if !value.isEmpty { values.append(String(Substring(value))) }
        }
        while cursor.skip(to: comma, quotes: self != .cookies, brackets: self == .links) {
            let next = cursor.place + 1
            if begins(after: cursor) {
                end()
                start = next
            }
            _ = cursor.take(comma)
        }
        end()
        return values.isEmpty ? [line] : values
    }

    /// Whether a value begins after a comma.
    private func begins(after comma: FieldCursor) -> Bool {
        var cursor = comma
        _ = cursor.take(UInt8(ascii: ","))
        let hasSpace = cursor.skipSpace()
        switch self {
        case .links:
            return cursor.next == UInt8(ascii: "<")
        case .cookies:
            // A space, a name and `=`, which excludes the date after a weekday and a comma within a value.
            let start = cursor.place
            cursor.skip { $0 > 0x20 && $0 < 0x7F && !";,=\"".utf8.contains($0) }
            return hasSpace && cursor.place > start && cursor.next == UInt8(ascii: "=")
        case .challenges:
            // A scheme, which, unlike the name of a parameter, is not followed by `=`.
            let start = cursor.place
            cursor.skip(while: \.isTokenCharacter)
            guard cursor.place > start else { return false }
            let isEnd = cursor.isAtEnd || cursor.next == UInt8(ascii: ",")
            return isEnd || cursor.skipSpace() && cursor.next != UInt8(ascii: "=")
        }
    }
}

/// A set of header field names that ignores ASCII case, with look-ups in constant time.
struct FieldNames: Sendable {
    /// The maximum number of names that are compared one by one, which is faster than hashing them.
    static let few = 8

    private let list: [String]
    private let keys: Set<String>

    init(_ names: [String]) {
        list = names.count <= Self.few ? names : []
        keys = names.count <= Self.few ? [] : Set(names.map(\.fieldNameKey))
    }

    @inline(never)
    func contains(_ name: String) -> Bool {
        keys.isEmpty ? list.contains { $0.isSameFieldName(as: name) } : keys.contains(name.fieldNameKey)
    }
}

extension String {
    /// The text without spaces and tabs at its ends.
    var withoutSurroundingSpace: String {
        guard let first = utf8.first, let last = utf8.last, first.isFieldSpace || last.isFieldSpace else { return self }
        return String(Substring(utf8[...].trimming()))
    }

    /// The canonical spelling of the name, with ASCII letters in lower case.
    @inline(never)
    var fieldNameKey: String {
        guard utf8.contains(where: { ($0 | 0x20).isASCIILowercase && $0 & 0x20 == 0 }) else { return self }
        return String(decoding: utf8.map { ($0 | 0x20).isASCIILowercase ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Whether two field names are equal ignoring ASCII case.
    func isSameFieldName(as other: String) -> Bool {
        let (one, two) = (utf8, other.utf8)
        guard one.count == two.count else { return false }
        var (place, otherPlace) = (one.startIndex, two.startIndex)
        while place != one.endIndex {
            let (byte, otherByte) = (one[place], two[otherPlace])
            guard byte == otherByte || (byte ^ otherByte == 0x20 && (byte | 0x20).isASCIILowercase) else {
                return false
            }
            one.formIndex(after: &place)
            two.formIndex(after: &otherPlace)
        }
        return true
    }
}
