internal import Foundation

extension URL {
    /// Creates a URL from a reference that a server or a file contains, or returns `nil` if it isn't one (RFC 3986, sections 4.1
    /// and 5).
    ///
    /// Nothing is encoded twice (section 2.4): valid escapes are kept, and only what a URL cannot contain is encoded. If
    /// Foundation meets such a character, it also encodes the escapes beside it. White space at both ends is omitted.
    ///
    /// - Parameters:
    ///   - reference: The text, absolute or relative.
    ///   - base: The URL that it is relative to, or `nil` for none.
    init?(reference: String, relativeTo base: URL? = nil) {
        let text = PercentEncoding.escapingReference(reference.trimmingCharacters(in: .whitespacesAndNewlines))
        // An empty reference is the URL itself, and Foundation has no such URL.
        let url = text.isEmpty ? base?.withoutFragment : URL(string: text, relativeTo: base)?.absoluteURL
        guard let url else { return nil }
        self = url
    }

    /// The URL without its fragment, which is never sent (RFC 9110, section 4.2.5).
    var withoutFragment: URL {
        guard fragment != nil, let mark = absoluteString.utf8.firstIndex(of: UInt8(ascii: "#")) else { return self }
        return URL(reference: String(absoluteString[..<mark])) ?? self
    }

    /// Returns this URL, which has no fragment, with the encoded fragment of another one.
    func withFragment(of other: URL?) -> URL {
        guard let fragment = other?.fragment() else { return self }
        return URL(reference: "\(absoluteString)#\(fragment)") ?? self
    }
}
