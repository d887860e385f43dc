internal import Foundation

/// The components of an absolute http or https URL as text; nothing is decoded, so valid escapes are kept.
struct URLParts: Sendable, Hashable {
    /// The scheme, host and port as written, without user information: `https://API.example:443`.
    private let prefix: String
    let origin: Origin
    /// Whether Foundation is known to accept the host and the port.
    private(set) var isHostSound = false
    /// The encoded path, which is empty or begins with a slash.
    var path: String
    /// The encoded query without its question mark, or `nil` if there is none.
    var query: String?

    /// Parses an absolute URL, or returns `nil` if the text is a path.
    ///
    /// - Throws: ``NetworkError`` if the scheme is neither http nor https, or there is no host.
    init?(absolute text: String) throws(NetworkError) {
        guard let scheme = Self.scheme(of: text) else { return nil }
        guard scheme == "http" || scheme == "https" else { throw NetworkError(.unsupportedScheme(scheme)) }
        var rest = text.utf8.dropFirst(scheme.utf8.count + 1)[...]
        guard rest.starts(with: "//".utf8) else {
            throw NetworkError(.invalidURL("'\(scheme):' is not followed by '//' and a host"))
        }
        rest = rest.dropFirst(2)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        rest = rest.dropFirst(authority.count)
        let host =
            authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
        guard let hostText = String(host), !hostText.isEmpty, hostText.first != ":" else {
            throw NetworkError(.invalidURL("it has no host"))
        }
        prefix = "\(scheme)://\(hostText)"
        origin = Origin(prefix)
        (path, query) = Self.pathAndQuery(String(rest) ?? "")
        if !path.isEmpty, path.first != "/" { path = "/" + path }
        path = Self.removingDotSegments(path)
    }

    /// Resolves a reference that a server sends, such as in `Location` (RFC 3986, section 5), without its fragment.
    ///
    /// - Parameters:
    ///   - reference: The text, absolute or relative, whose escapes are kept.
    ///   - base: The URL of the response.
    /// - Throws: ``NetworkError`` if it is no absolute http or https URL.
    init(reference: String, relativeTo base: URL) throws(NetworkError) {
        guard let url = URL(reference: reference, relativeTo: base),
            let parts = try URLParts(absolute: url.absoluteString)
        else { throw NetworkError(.invalidURL("it is not an absolute http or https URL")) }
        self = parts
        if path.isEmpty { path = "/" }
    }

    /// Whether a reference that a server sends leads to the URL of its response, in any spelling.
    static func leads(_ reference: String, to url: URL) -> Bool {
        // What is no http or https URL leads elsewhere.
        guard !reference.utf8.contains(UInt8(ascii: "#")), let own = try? URLParts(reference: "", relativeTo: url),
            let named = try? URLParts(reference: reference, relativeTo: url)
        else { return false }
        return named.origin == own.origin && named.path == own.path && named.query == own.query
    }

    /// Appends a path with exactly one slash between, and its query after this one's.
    ///
    /// - Throws: ``NetworkError`` if the path has a dot segment, which would lead elsewhere, or a fragment, which would
    ///   be cut off.
    mutating func append(_ text: String) throws(NetworkError) {
        if PercentEncoding.isPlainPath(text) {
            if Self.dotSegments(in: text) != .absent { throw Self.dotSegment(in: text) }
            return append(path: text)
        }
        if text.utf8.contains(UInt8(ascii: "#")) {
            throw NetworkError(
                .invalidURL(
                    "the path '\(DeclaredPath.shown(text))' is followed by '#', which would cut off the rest: "
                        + Self.advice
                )
            )
        }
        let (path, query) = Self.pathAndQuery(DeclaredPath.removingMarks(text))
        if Self.dotSegments(in: path) != .absent { throw Self.dotSegment(in: text) }
        append(path: path)
        if let query { append(encodedQuery: query) }
    }

    /// The advice for a path that contains interpolated text.
    static let advice = #"write values that are interpolated into a path as "\(component: value)""#

    /// Returns the error for a path that would lead elsewhere.
    static func dotSegment(in path: String) -> NetworkError {
        NetworkError(
            .invalidURL("the path '\(DeclaredPath.shown(path))' has '.' or '..' as a component: \(advice)")
        )
    }

    private mutating func append(path text: String) {
        let slash = UInt8(ascii: "/")
        if path.isEmpty || path == "/", text.utf8.first == slash, text.utf8.dropFirst().first != slash {
            path = text
            return
        }
        let relative = text.utf8.drop { $0 == slash }
        if !relative.isEmpty {
            while path.utf8.last == slash { path.removeLast() }
            path += "/"
            path += Substring(relative)
        } else if !text.isEmpty, path.isEmpty {
            path = "/"
        }
    }

    /// Appends already-encoded pairs to the query.
    mutating func append(encodedQuery pairs: String) {
        guard !pairs.isEmpty else { return }
        query = query.map { $0.isEmpty ? pairs : "\($0)&\(pairs)" } ?? pairs
    }

    var text: String {
        var text = prefix
        text.reserveCapacity(prefix.utf8.count + path.utf8.count + 1 + (query?.utf8.count ?? 0))
        text += path
        if let query {
            text += "?"
            text += query
        }
        return text
    }

    /// Returns the URL, parsed by Foundation.
    func url() throws(NetworkError) -> URL {
        if !isHostSound { try checkHost() }
        guard let url = URL(string: text) else { throw invalidHost }
        return url
    }

    /// Returns the same components, with the host marked as valid if it is, so that it is not checked again.
    func checked() -> URLParts {
        var copy = self
        if (try? url()) != nil { copy.isHostSound = true }
        return copy
    }

    private var host: Substring.UTF8View { prefix.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2) }

    private func checkHost() throws(NetworkError) {
        guard Self.hasValidPort(host) else { throw invalidHost }
    }

    // The host may in fact be a user and the beginning of a password.
    private var invalidHost: NetworkError {
        NetworkError(
            .invalidURL("the host or port is not valid; '/', '?' and '#' in user information are percent-encoded")
        )
    }

    /// Whether the text after the colon of an authority is a valid port; Foundation accepts any number of digits.
    static func hasValidPort(_ authority: Substring.UTF8View) -> Bool {
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return true }
        let port = authority[authority.index(after: colon)...]
        if port.isEmpty || port.contains(UInt8(ascii: "]")) { return true }
        return Int(String(Substring(port))).map { 0...0xFFFF ~= $0 } ?? false
    }

    /// Returns the path and query of an encoded text without its fragment, which is never sent (RFC 9110, section
    /// 4.2.5).
    private static func pathAndQuery(_ text: String) -> (path: String, query: String?) {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else {
            return (PercentEncoding.escapingPath(Substring(bytes)), nil)
        }
        let query = Substring(bytes[bytes.index(after: mark)...])
        return (PercentEncoding.escapingPath(Substring(bytes[..<mark])), PercentEncoding.escapingQuery(query))
    }

    /// Returns the lowercase scheme if the text begins with one, so that it cannot be a path.
    ///
    /// `users:search` is a path. `mailto:x@y` and everything with `://` is not.
    private static func scheme(of text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text.utf8[..<colon]
        guard let first = name.first, first.isASCIILetter,
            name.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }),
            let scheme = String(name)?.lowercased()
        else { return nil }
        let isAbsolute = text.utf8[text.utf8.index(after: colon)...].starts(with: "//".utf8)
        return isAbsolute || wellKnownSchemes.contains(scheme) ? scheme : nil
    }

    private static let wellKnownSchemes: Set<String> = [
        "http", "https", "ftp", "ftps", "file", "data", "mailto", "javascript", "ws", "wss", "blob", "about", "tel",
    ]
}

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
        // A URL that cannot be sent has an origin that no other URL has. What follows the host is not read.
        let text = absoluteString.utf8
        let end = text.dropFirst("https://".utf8.count).firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
        let parts = (try? URLParts(absolute: String(Substring(text[..<end])))) ?? nil
        return parts?.origin ?? Origin("\(scheme ?? "")://\(host() ?? "")")
    }
}
