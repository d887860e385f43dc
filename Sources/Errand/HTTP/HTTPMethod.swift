/// A request method.
///
/// The name is validated as an RFC 9110 token when a request is built, so that an invalid method, such as one read from
/// a file, causes a typed error instead of a trap.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, Encodable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The name as sent; methods are case-sensitive (RFC 9110, section 9.1).
    public let rawValue: String

    /// The semantics that the initializer declared, or `nil` for the semantics in the registry.
    private let semantics: Semantics?

    private enum Semantics: UInt8, Sendable { case safe, idempotent, neither }

    /// Creates a method from its name as sent.
    public init(rawValue: String) {
        self.rawValue = rawValue
        semantics = nil
    }

    /// Creates a method from a literal: `"PROPFIND"`.
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// Creates a method that isn't in the IANA registry, or whose semantics a server defines more strictly.
    ///
    /// ```swift
    /// extension HTTPMethod {
    ///     static let purge = HTTPMethod("PURGE", isIdempotent: true)
    /// }
    /// ```
    ///
    /// Two methods are equal if their names are.
    ///
    /// - Parameters:
    ///   - name: The name as sent.
    ///   - isSafe: Whether the method only reads; a safe method is also idempotent (RFC 9110, section 9.2.1).
    ///   - isIdempotent: Whether sending a request twice has the effect of sending it once. Requests with such a method
    ///     are retried, and sent again after an authentication refresh.
    public init(_ name: String, isSafe: Bool = false, isIdempotent: Bool) {
        rawValue = name
        semantics = isSafe ? .safe : isIdempotent ? .idempotent : .neither
    }

    /// Whether the names are equal, including their case.
    public static func == (one: HTTPMethod, other: HTTPMethod) -> Bool { one.rawValue == other.rawValue }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// GET (RFC 9110, section 9.3.1).
    public static let get = HTTPMethod(rawValue: "GET")
    /// HEAD (RFC 9110, section 9.3.2).
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// POST (RFC 9110, section 9.3.3).
    public static let post = HTTPMethod(rawValue: "POST")
    /// PUT (RFC 9110, section 9.3.4).
    public static let put = HTTPMethod(rawValue: "PUT")
    /// PATCH (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// DELETE (RFC 9110, section 9.3.5).
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// OPTIONS (RFC 9110, section 9.3.7).
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// TRACE (RFC 9110, section 9.3.8).
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// Whether the method is safe (RFC 9110, section 9.2.1), as registered or as declared by
    /// ``init(_:isSafe:isIdempotent:)``; `false` for any other method.
    public var isSafe: Bool {
        switch (semantics, self) {
        case (.safe?, _): true
        case (_?, _): false
        case (nil, .get), (nil, .head): true
        case (nil, .post), (nil, .put), (nil, .patch), (nil, .delete): false
        case (nil, _): Self.registeredAsSafe.contains(rawValue)
        }
    }

    /// Whether the method is idempotent (RFC 9110, section 9.2.2), as registered or as declared by
    /// ``init(_:isSafe:isIdempotent:)``; `false` for any other method.
    public var isIdempotent: Bool {
        switch (semantics, self) {
        case (.neither?, _): false
        case (_?, _): true
        case (nil, .get), (nil, .head), (nil, .put), (nil, .delete): true
        case (nil, .post), (nil, .patch): false
        case (nil, _):
            Self.registeredAsSafe.contains(rawValue) || Self.registeredAsIdempotent.contains(rawValue)
        }
    }

    /// The methods that are safe according to the IANA HTTP Method Registry.
    private static let registeredAsSafe: Set<String> = [
        "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE",
    ]

    /// The methods that are idempotent but not safe according to the IANA HTTP Method Registry.
    private static let registeredAsIdempotent: Set<String> = [
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "LABEL", "LINK", "MERGE",
        "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPPATCH", "PUT",
        "REBIND", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ]

    /// Whether parameters are sent in the query by default, as for GET, HEAD and DELETE.
    ///
    /// A body of these methods has no defined semantics (RFC 9110, sections 9.3.1, 9.3.2 and 9.3.5).
    var putsParametersInQuery: Bool { self == .get || self == .head || self == .delete }

    /// The name as sent.
    public var description: String { rawValue }
}
