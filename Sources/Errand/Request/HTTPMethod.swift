/// A request method, by its name on the wire.
///
/// The name is checked as an RFC 9110 token when a request is built, not here, so that a method read from a file
/// gives a typed error and not a trap.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as it is sent; methods are case-sensitive (RFC 9110, section 9.1).
    public let rawValue: String

    /// Takes the name as it is sent.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Takes the name as it is sent: `"PROPFIND"`.
    public init(stringLiteral value: String) { rawValue = value }

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

    /// Whether the method asks for nothing but an answer (RFC 9110, section 9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether sending the request twice means the same as sending it once (RFC 9110, section 9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether parameters belong into the query unless the request says otherwise: GET, HEAD and DELETE.
    ///
    /// A body of these methods has no defined meaning (RFC 9110, sections 9.3.1, 9.3.2 and 9.3.5).
    var putsParametersInQuery: Bool { self == .get || self == .head || self == .delete }

    /// The name as it is sent.
    public var description: String { rawValue }
}
