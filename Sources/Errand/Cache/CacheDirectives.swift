internal import Foundation

/// The directives of the `Cache-Control` fields of a request or a response (RFC 9111, section 5.2).
///
/// Read in one pass over arbitrary bytes. If a directive is repeated, the strictest applies; an invalid number makes a
/// response stale (RFC 9111, section 4.2.1).
struct CacheDirectives: Sendable, Equatable {
    var noStore = false
    /// Whether there is `no-cache` without field names; with them it is ``noCacheFields``.
    var noCache = false
    /// The fields that must not be reused without validation; they are not stored.
    var noCacheFields: [String] = []
    var mustRevalidate = false
    var mustUnderstand = false
    var isPublic = false
    var isPrivate = false
    var isImmutable = false
    var onlyIfCached = false
    var maxAge: Duration?
    var minFresh: Duration?
    /// The limit of `max-stale`; without a number it is ``longest``.
    var maxStale: Duration?
    var staleWhileRevalidate: Duration?
    var staleIfError: Duration?

    /// The value of a number that is too large: 68 years (RFC 9111, section 1.2.2).
    static let longest = Duration.seconds(Int64(1) << 31)

    init() {}

    /// Creates the directives of the header fields of a request or a response.
    init(_ headers: HTTPHeaders) {
        var isThere = false
        for field in headers where field.name.isSameFieldName(as: "Cache-Control") {
            isThere = true
            var cursor = FieldCursor(field.value)
            while let (name, value) = cursor.directive() { take(name, value) }
        }
        if !isThere, headers["Pragma"]?.lowercased().contains("no-cache") == true { noCache = true }
    }

    private mutating func take(_ name: String, _ value: String?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache":
            // A list without a name is not allowed, so the strictest meaning applies.
            let names = value.map(Self.names) ?? []
            if names.isEmpty { noCache = true } else { noCacheFields += names }
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = min(maxAge ?? Self.longest, Self.seconds(value) ?? .zero)
        case "min-fresh": minFresh = max(minFresh ?? .zero, Self.seconds(value) ?? Self.longest)
        case "max-stale":
            let limit = value.map { Self.seconds($0) ?? .zero } ?? Self.longest
            maxStale = min(maxStale ?? Self.longest, limit)
        case "stale-while-revalidate":
            staleWhileRevalidate = min(staleWhileRevalidate ?? Self.longest, Self.seconds(value) ?? .zero)
        case "stale-if-error": staleIfError = min(staleIfError ?? Self.longest, Self.seconds(value) ?? .zero)
        default: break
        }
    }

    /// Returns a number of seconds, at most ``longest``, or `nil` if the text is anything but digits.
    static func seconds(_ text: (some StringProtocol)?) -> Duration? {
        guard let text, !text.isEmpty else { return nil }
        var seconds: Int64 = 0
        for byte in text.utf8 {
            guard (0x30...0x39).contains(byte) else { return nil }
            seconds = min(seconds * 10 + Int64(byte - 0x30), 1 << 31)
        }
        return .seconds(seconds)
    }

    /// Returns the names in a list of fields.
    static func names(_ list: String) -> [String] {
        list.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty }
    }
}

extension FieldCursor {
    /// Reads the next directive of a list, with a quoted string unquoted.
    fileprivate mutating func directive() -> (name: String, value: String?)? {
        while !isAtEnd {
            skip { $0.isFieldSpace || $0 == UInt8(ascii: ",") }
            let name = token().lowercased()
            skipSpace()
            let value = take(UInt8(ascii: "=")) ? value(upTo: ", \t") : nil
            skip { $0 != UInt8(ascii: ",") }
            if !name.isEmpty { return (name, value) }
        }
        return nil
    }
}
