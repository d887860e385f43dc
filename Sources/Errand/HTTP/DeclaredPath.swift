/// The path of a request as it is declared: the only path that is shown.
///
/// It does not contain what URL filters, adapters, sessions and interceptors add to the path. The target of a redirect has
/// none.
final class DeclaredPath: Sendable, Hashable {
    /// The text that replaces what is not shown.
    static let mask = "•••"

    /// The path as the request spells it, with marks around its secrets, or an absolute URL.
    let text: String
    /// The shown path of the base URL; empty for an absolute URL.
    private let base: String

    init(_ text: String, below base: String = "") { (self.text, self.base) = (text, base) }

    /// The path, encoded, with a mask in place of each secret, and without query and fragment.
    var shown: String {
        let own = Self.shown(text)
        if base.isEmpty || base == "/" { return own.hasPrefix("/") ? own : "/" + own }
        let relative = own.drop { $0 == "/" }
        return relative.isEmpty ? base : base + (base.hasSuffix("/") ? "" : "/") + relative
    }

    static func == (one: DeclaredPath, other: DeclaredPath) -> Bool { one.text == other.text && one.base == other.base }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }

    // MARK: Marks

    // Two control characters, which neither a path nor a header field contains, and which encoded text cannot contain.
    private static let beginning = UInt8(2)
    private static let end = UInt8(3)

    /// Returns a text with marks around it.
    static func marking(_ text: String) -> String { "\u{2}\(text)\u{3}" }

    /// Returns a path without its marks, as it is sent.
    static func removingMarks(_ text: String) -> String {
        func isMark(_ byte: UInt8) -> Bool { byte == beginning || byte == end }
        return text.utf8.contains(where: isMark)
            ? String(decoding: text.utf8.filter { !isMark($0) }, as: UTF8.self) : text
    }

    /// Returns the shown form of a path or an absolute URL: its path, encoded and with a mask in place of each secret.
    static func shown(_ text: String) -> String {
        var (shown, kept, isSecret) = ("", [UInt8](), false)
        func flush() {
            shown += PercentEncoding.escapingPath(String(decoding: kept, as: UTF8.self))
            kept = []
        }
        loop: for byte in path(of: text) {
            switch byte {
            case beginning:
                flush()
                shown += mask
                isSecret = true
            case end: isSecret = false
            case _ where isSecret: continue
            case UInt8(ascii: "?"), UInt8(ascii: "#"): break loop
            default: kept.append(byte)
            }
        }
        flush()
        return shown
    }

    /// Returns a text without scheme, user information and host, if it is an absolute URL.
    private static func path(of text: String) -> Substring.UTF8View {
        let bytes = text.utf8[...]
        func isDelimiter(_ byte: UInt8) -> Bool { "/?#".utf8.contains(byte) }
        guard let scheme = bytes.firstIndex(where: isDelimiter), bytes[scheme...].starts(with: "//".utf8),
            bytes[..<scheme].last == UInt8(ascii: ":")
        else { return bytes }
        let rest = bytes[scheme...].dropFirst(2)
        let authority = rest.prefix { !isDelimiter($0) }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[$0...].dropFirst() } ?? authority
        // A slash in a password ends the host.
        return URLParts.hasValidPort(host) ? rest.dropFirst(authority.count) : marking("").utf8[...]
    }
}
