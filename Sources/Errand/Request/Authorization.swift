internal import Foundation

/// The credentials of a request, sent in its `Authorization` field (RFC 9110, section 11.6.2).
///
/// In a request, write `var authorization: Authorization { .bearer(token) }`. The description contains no credentials.
public struct Authorization: Sendable, Hashable, CustomStringConvertible {
    enum Scheme: Sendable, Hashable {
        case inherited
        case anonymous
        case value(scheme: String, credentials: String)
    }

    let scheme: Scheme
    /// Whether the user name of Basic contains a colon.
    private var hasColonInUserName = false

    init(scheme: Scheme) { self.scheme = scheme }

    /// The service's authorization, then the config's; if neither has one, no field is sent.
    public static let inherited = Authorization(scheme: .inherited)

    /// No `Authorization` field, even if the service's or the config's headers have one.
    ///
    /// A field in the request's own ``Request/headers`` is still sent.
    public static let anonymous = Authorization(scheme: .anonymous)

    /// Returns the Basic credentials of a user (RFC 7617), which are sent without waiting for a challenge.
    ///
    /// The user name must not contain a colon, which ends it; a request with such credentials fails with
    /// ``NetworkError/Reason/unencodable(_:)``.
    public static func basic(user: String, password: String) -> Authorization {
        var authorization = Authorization(
            scheme: .value(scheme: "Basic", credentials: Data("\(user):\(password)".utf8).base64EncodedString())
        )
        authorization.hasColonInUserName = user.utf8.contains(UInt8(ascii: ":"))
        return authorization
    }

    /// Returns the credentials of a bearer token (RFC 6750).
    public static func bearer(_ token: String) -> Authorization {
        Authorization(scheme: .value(scheme: "Bearer", credentials: token))
    }

    /// Returns the credentials of any other scheme, which are sent unchanged.
    public static func custom(scheme: String, credentials: String) -> Authorization {
        Authorization(scheme: .value(scheme: scheme, credentials: credentials))
    }

    /// The value of the field, or `nil` if none is sent.
    ///
    /// - Throws: ``NetworkError`` if the user name of Basic contains a colon.
    var fieldValue: String? {
        get throws(NetworkError) {
            guard case .value(let scheme, let credentials) = scheme else { return nil }
            guard !hasColonInUserName else { throw Self.colonInUserName(of: scheme, source: "RFC 7617, section 2") }
            return "\(scheme) \(credentials)"
        }
    }

    /// Returns the error for a user name with a colon.
    static func colonInUserName(of scheme: String, source: String) -> NetworkError {
        NetworkError(
            .unencodable("the user name of \(scheme) contains a colon, which ends it (\(source)); use one without")
        )
    }

    /// The scheme, without the credentials.
    public var description: String {
        switch scheme {
        case .inherited: "inherited"
        case .anonymous: "anonymous"
        case .value(let scheme, _): "\(scheme) (credentials hidden)"
        }
    }
}
