internal import Foundation

/// What a request shows to say on whose behalf it comes: the `Authorization` field (RFC 9110, section 11.6.2).
///
/// Spelling in a request: `var authorization: Authorization { .bearer(token) }`. The description never tells a secret.
public struct Authorization: Sendable, Hashable, CustomStringConvertible {
    enum Scheme: Sendable, Hashable {
        case inherited
        case anonymous
        case value(scheme: String, credentials: String)
    }

    let scheme: Scheme

    /// What the service says, then the config; at the end of the line nothing is sent.
    public static let inherited = Authorization(scheme: .inherited)

    /// No `Authorization` field, whatever service and config say, also among their headers.
    ///
    /// One among the request's own ``Request/headers`` is sent.
    public static let anonymous = Authorization(scheme: .anonymous)

    /// User and password (RFC 7617), sent at once and not only after a challenge.
    public static func basic(user: String, password: String) -> Authorization {
        Authorization(
            scheme: .value(scheme: "Basic", credentials: Data("\(user):\(password)".utf8).base64EncodedString())
        )
    }

    /// A token (RFC 6750).
    public static func bearer(_ token: String) -> Authorization {
        Authorization(scheme: .value(scheme: "Bearer", credentials: token))
    }

    /// Any other scheme, with its credentials as they are to be sent.
    public static func custom(scheme: String, credentials: String) -> Authorization {
        Authorization(scheme: .value(scheme: scheme, credentials: credentials))
    }

    /// The value of the field, or `nil` when none is sent.
    var fieldValue: String? {
        guard case .value(let scheme, let credentials) = scheme else { return nil }
        return "\(scheme) \(credentials)"
    }

    /// The scheme, and never the credentials.
    public var description: String {
        switch scheme {
        case .inherited: "inherited"
        case .anonymous: "anonymous"
        case .value(let scheme, _): "\(scheme) (credentials hidden)"
        }
    }
}
