/// The header fields whose lines a transport may have joined although a comma doesn't always separate their values.
///
/// Each line is read once. What doesn't follow the grammar remains part of the value before it.
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
        let bytes = line.utf8
        guard bytes.contains(UInt8(ascii: ",")) else { return [line] }
        var values: [String] = []
        var start = bytes.startIndex
        func end(at place: String.Index) {
            let value = bytes[start..<place].trimmed
            if !value.isEmpty { values.append(String(Substring(value))) }
        }
        var reader = Reader(rest: bytes[...])
        while let comma = reader.comma(quotes: self != .cookies, brackets: self == .links) {
            let next = bytes.index(after: comma)
            guard begins(bytes[next...]) else { continue }
            end(at: comma)
            start = next
        }
        end(at: bytes.endIndex)
        return values.isEmpty ? [line] : values
    }

    /// Whether a value begins after a comma.
    private func begins(_ text: Substring.UTF8View) -> Bool {
        let rest = text.drop { $0.isFieldSpace }
        switch self {
        case .links:
            return rest.first == UInt8(ascii: "<")
        case .cookies:
            // A space, a name and `=`, which excludes the date after a weekday and a comma within a value.
            guard rest.startIndex != text.startIndex else { return false }
            let name = rest.prefix { $0 > 0x20 && $0 < 0x7F && !";,=\"".utf8.contains($0) }
            return !name.isEmpty && rest[name.endIndex...].first == UInt8(ascii: "=")
        case .challenges:
            // A scheme, which, unlike the name of a parameter, is not followed by `=`.
            let scheme = rest.prefix { $0.isTokenCharacter }
            let after = rest[scheme.endIndex...]
            guard !scheme.isEmpty, let byte = after.first else { return !scheme.isEmpty }
            if byte == UInt8(ascii: ",") { return true }
            guard byte.isFieldSpace, let next = after.first(where: { !$0.isFieldSpace }) else {
                return byte.isFieldSpace
            }
            return next != UInt8(ascii: "=")
        }
    }

    private struct Reader {
        var rest: Substring.UTF8View

        /// Returns the next comma outside quoted strings and angle brackets, if these apply, or `nil` if there is none.
        mutating func comma(quotes: Bool, brackets: Bool) -> String.Index? {
            var closing: UInt8?
            while let byte = rest.first {
                let place = rest.startIndex
                rest = rest.dropFirst()
                if let end = closing {
                    if byte == UInt8(ascii: "\\"), end == UInt8(ascii: "\"") { rest = rest.dropFirst() }
                    if byte == end { closing = nil }
                } else if quotes, byte == UInt8(ascii: "\"") {
                    closing = byte
                } else if brackets, byte == UInt8(ascii: "<") {
                    closing = UInt8(ascii: ">")
                } else if byte == UInt8(ascii: ",") {
                    return place
                }
            }
            return nil
        }
    }
}

extension UInt8 {
    var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
}

extension Substring.UTF8View {
    /// The text without spaces, tabs and commas at its ends.
    fileprivate var trimmed: Substring.UTF8View {
        func isLeft(_ byte: UInt8) -> Bool { byte.isFieldSpace || byte == UInt8(ascii: ",") }
        let rest = drop(while: isLeft)
        let end = rest.lastIndex { !isLeft($0) }.map { rest.index(after: $0) } ?? rest.startIndex
        return rest[..<end]
    }
}
