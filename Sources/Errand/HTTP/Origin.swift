internal import Foundation

/// The scheme, host and port that a request is sent to (RFC 6454), normalized once.
///
/// Budgets, permits, circuits, credentials and cookies belong to an origin.
struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The origin in lower case, with its host in ASCII and without a default port: `https://api.example:8443`.
    let description: String

    /// Creates the origin of a scheme, host and port without user information, such as `https://api.example:443`.
    init(_ text: String) {
        // Foundation spells an internationalized name in ASCII once it is part of a URL (RFC 5890, section 2.3.2.1).
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let text = (isASCII ? text : URL(string: text)?.absoluteString ?? text).lowercased()
        let suffix = text.utf8.starts(with: "https:".utf8) ? ":443" : ":80"
        let isDefault = text.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        let omitted = isDefault ? suffix.utf8.count : text.utf8.last == UInt8(ascii: ":") ? 1 : 0
        description = omitted == 0 ? text : String(Substring(text.utf8.dropLast(omitted)))
    }

    var isSecure: Bool { description.utf8.starts(with: "https:".utf8) }

    /// The host, and the port unless it is the default one: `api.example:8443`.
    var authority: String { String(Substring(description.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2))) }

    /// The host as it is sent, an IPv6 address in brackets.
    var host: String {
        let authority = authority
        let end = authority.utf8.lastIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "]") }
        guard let end, authority.utf8[end] == UInt8(ascii: ":") else { return authority }
        return String(authority[..<end])
    }
}

extension URL {
    /// The origin, without user information.
    var origin: Origin {
        // A URL that cannot be sent has an origin that no other URL has.
        let parts = (try? URLParts(absolute: absoluteString)) ?? nil
        return parts?.origin ?? Origin("\(scheme ?? "")://\(host() ?? "")")
    }
}
