public import Foundation

/// A cookie of a ``CookieJar`` (RFC 6265).
///
/// The description contains the name, the domain and the path, but not the value.
public struct Cookie: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The value as the server wrote it, including quotation marks.
    public let value: String
    /// The host that the cookie is sent to, or, unless ``isHostOnly``, the domain whose hosts it is sent to; in lower case.
    public let domain: String
    /// The path that a request's path must equal, or begin with up to a slash.
    public let path: String
    /// The date from which the cookie is no longer sent, or `nil` if it is kept until the process ends.
    public internal(set) var expires: Date?
    /// Whether it is sent to the host ``domain`` only, and not to hosts in that domain.
    public let isHostOnly: Bool
    /// Whether it is sent only with `https`, and to loopback hosts.
    public let isSecure: Bool
    /// Whether the server has marked it as not meant for scripts.
    public let isHTTPOnly: Bool

    /// The maximum number of bytes of name and value together; a larger cookie is ignored.
    static let maximumByteCount = 4096
    /// The maximum number of bytes of an attribute; a longer one is ignored.
    static let maximumAttributeByteCount = 1024
    /// The maximum time for which a cookie is kept.
    static let maximumAge = 400 * 86_400

    /// Whether a response could have set it.
    var isAcceptable: Bool {
        !name.isEmpty && name.utf8.count + value.utf8.count <= Self.maximumByteCount
            && !name.utf8.contains(UInt8(ascii: "=")) && path.first == "/" && !domain.isEmpty
            && domain.utf8.count <= CookieOrigin.maximumHostByteCount
            && path.utf8.count <= Self.maximumAttributeByteCount && domain == domain.lowercased()
            && [name, value, domain, path].allSatisfy(Self.isPlain)
    }
}

extension Cookie {
    /// Creates the cookie of a `Set-Cookie` field (RFC 6265, sections 5.2 and 5.3, with the prefixes of its successor), or
    /// returns `nil` if the cookie is ignored.
    ///
    /// - Parameters:
    ///   - line: The value of one field.
    ///   - origin: The origin of the response.
    ///   - now: The current time.
    init?(_ line: String, from origin: CookieOrigin, at now: Date) {
        let fields = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let first = fields.first, case (let name, let value?) = Self.pair(first),
            line.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else { return nil }
        var (domain, path, maxAge, date): (String?, String?, Date?, Date?) = (nil, nil, nil, nil)
        var (isSecure, isHTTPOnly) = (false, false)
        for field in fields.dropFirst() where field.count <= Self.maximumAttributeByteCount {
            let (name, value) = Self.pair(field)
            switch name.lowercased() {
            case "domain": if let value, !value.isEmpty { domain = value }
            case "path": path = value.flatMap { $0.first == "/" ? $0 : nil }
            case "max-age": maxAge = value.flatMap { Self.end(ofMaxAge: $0, from: now) } ?? maxAge
            case "expires": date = value.flatMap(HTTPDate.cookieDate) ?? date
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            default: break
            }
        }
        guard let place = origin.place(forDomain: domain), origin.isSecure || !isSecure else { return nil }
        // By bytes: a mark after the hyphen would make one `Character` of both.
        let bytes = name.lowercased().utf8
        let isHostPrefixed = bytes.starts(with: "__host-".utf8)
        if isHostPrefixed || bytes.starts(with: "__secure-".utf8) { guard isSecure else { return nil } }
        if isHostPrefixed { guard domain == nil, path == "/" else { return nil } }
        self.init(
            name: name,
            value: value,
            domain: place.domain,
            path: path ?? origin.defaultPath,
            expires: (maxAge ?? date).map { min($0, Self.latestDate(from: now)) },
            isHostOnly: place.isHostOnly,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly
        )
        if !isAcceptable { return nil }
    }

    /// The number of bytes of the cookie in a `Cookie` field.
    var byteCount: Int { name.utf8.count + 1 + value.utf8.count }

    /// Whether the cookie is no longer sent.
    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// Whether the cookie is sent to an origin.
    func isSent(to origin: CookieOrigin) -> Bool {
        (isHostOnly ? origin.host == domain : origin.isWithin(domain)) && (origin.isSecure || !isSecure)
            && Self.path(origin.path, isWithin: path)
    }

    /// Whether a path is another one, or below it (RFC 6265, section 5.1.4).
    static func path(_ path: String, isWithin other: String) -> Bool {
        guard path.utf8.starts(with: other.utf8) else { return false }
        let rest = path.utf8.dropFirst(other.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/") || other.utf8.last == UInt8(ascii: "/")
    }

    /// Returns the latest date of expiry of a cookie that is set now.
    static func latestDate(from now: Date) -> Date { now.addingTimeInterval(Double(maximumAge)) }

    /// Returns the end of a `Max-Age`, or `nil` if it is not a number; zero and less have passed.
    private static func end(ofMaxAge text: String, from now: Date) -> Date? {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        guard digits.count == text.utf8.count, digits.contains(where: { $0 != 0x30 }) else { return .distantPast }
        return now.addingTimeInterval(Double(min(Int(text) ?? .max, maximumAge)))
    }

    /// Returns the name and the value of a pair, without surrounding white space; the value is `nil` without `=`.
    private static func pair(_ field: Substring.UTF8View) -> (name: String, value: String?) {
        let name = field.prefix { $0 != UInt8(ascii: "=") }
        let value = name.endIndex == field.endIndex ? nil : field[field.index(after: name.endIndex)...]
        return (
            String(Substring(name)).withoutSurroundingSpace,
            value.map { String(Substring($0)).withoutSurroundingSpace }
        )
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F || $0 == 0x09) && $0 != UInt8(ascii: ";") }
    }
}

/// The parts of a URL that determine which cookies are sent to it, and which its response may set.
struct CookieOrigin: Sendable, Hashable {
    /// The host in lower case.
    let host: String
    /// The path, which begins with a slash.
    let path: String
    /// Whether it may set `Secure` cookies and is sent them: with `https`, and, as in browsers, as a loopback host.
    let isSecure: Bool

    /// The maximum length of a name in the DNS; longer hosts have no cookies.
    static let maximumHostByteCount = 253

    /// Creates the origin of a URL, or returns `nil` if the URL has none.
    init?(_ url: URL) {
        // A URL that cannot be sent to has no cookies.
        guard let parts = try? URLParts(absolute: url.absoluteString) else { return nil }
        host = parts.origin.host
        isSecure = parts.origin.isSecure || Self.isLoopback(host)
        guard !host.isEmpty, host.utf8.count <= Self.maximumHostByteCount else { return nil }
        path = parts.path.isEmpty ? "/" : parts.path
    }

    /// Whether a host is this device (RFC 6761, section 6.3; W3C, Secure Contexts, section 3.1).
    private static func isLoopback(_ host: String) -> Bool {
        let isAddress = host.hasPrefix("127.") && host.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
        return isAddress || host == "[::1]" || host == "localhost" || host.hasSuffix(".localhost")
    }

    /// Whether the host is an address and not a name: its last part is a number, or it has brackets.
    var isAddress: Bool {
        let last = host.utf8.split(separator: UInt8(ascii: ".")).last ?? host.utf8[...]
        return host.utf8.first == UInt8(ascii: "[") || last.allSatisfy(\.isASCIIDigit) || last.starts(with: "0x".utf8)
    }

    /// Whether the host is a domain, or a host in it (RFC 6265, section 5.1.3).
    func isWithin(_ domain: String) -> Bool {
        if host == domain { return true }
        return host.utf8.count > domain.utf8.count && host.hasSuffix(domain) && !isAddress
            && host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".")
    }

    /// The host, then the domains that contain it.
    var domains: [String] {
        var domains = [host]
        var rest = host.utf8[...]
        while !isAddress, let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            domains.append(String(Substring(rest)))
        }
        return domains
    }

    /// Returns where a cookie belongs (RFC 6265, section 5.3).
    ///
    /// - Parameter attribute: The value of the attribute `Domain`, or `nil` if there is none.
    /// - Returns: The host or the domain, or `nil` if the host must not set a cookie for the domain.
    func place(forDomain attribute: String?) -> (domain: String, isHostOnly: Bool)? {
        guard let attribute else { return (host, true) }
        let domain = (attribute.first == "." ? String(attribute.dropFirst()) : attribute).lowercased()
        if domain.isEmpty { return (host, true) }
        let isSingle = Self.isSingleLabel(domain)
        if domain == host { return (host, isSingle || isAddress) }
        return isWithin(domain) && !isSingle ? (domain, false) : nil
    }

    /// Whether a domain has no dot within it: it is a public suffix, or a single host.
    static func isSingleLabel(_ domain: String) -> Bool {
        !domain.utf8.split(separator: UInt8(ascii: ".")).dropFirst().contains { !$0.isEmpty }
    }

    /// The path of a cookie that has none of its own (RFC 6265, section 5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(Substring(path.utf8[..<slash]))
    }
}
