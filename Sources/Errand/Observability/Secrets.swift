internal import Foundation

/// The names of secrets that errors, descriptions, logs and redirects redact or remove.
///
/// Names are compared without case, `_` and `-`: `access_token`, `accessToken` and `Access-Token` are the same name. A name is
/// also secret if it ends with the words of a listed name, as `newPassword` and `X-Upload-Token` do for `password` and
/// `Token`; digits at its end do not count. The names `auth`, `code`, `pin`, `session`, `sig` and `tokens` only match whole
/// names, because many names that end with them, such as `statusCode` and `max_tokens`, are not secrets. In a member `tokens`
/// of JSON, numbers are shown, because they are often counts.
///
/// A secret is replaced by ``mask``. What cannot be parsed is omitted, or masked as a whole if it may name a secret.
public struct Secrets: Sendable, Hashable {
    /// The header fields whose values are secret.
    ///
    /// They are also removed when a redirect leaves the origin.
    public var headers: [String] { didSet { headerNames = LazySecretNames(headers) } }

    /// The names in queries and forms whose values are secret.
    public var queryNames: [String] { didSet { pairNames = LazySecretNames(queryNames) } }

    /// The members of JSON objects, at any depth, whose values are secret.
    public var jsonKeys: [String] { didSet { memberNames = LazySecretNames(jsonKeys) } }

    private var headerNames: LazySecretNames
    var pairNames: LazySecretNames
    var memberNames: LazySecretNames

    /// The text that replaces a secret.
    public static let mask = "•••"

    /// Creates a list of secrets.
    ///
    /// The defaults are the names that most services use; add your own to them. A query's `key`, which Google's services use
    /// for an API key, is not one of them, because it often names a part of the content.
    public init(
        headers: [String] = [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-Session-Id", "X-Amz-Security-Token", "Token", "Secret", "Password",
            "X-Auth", "X-Session", "X-Sid", "JWT", "DPoP", "Bearer", "Credential", "Credentials", "Assertion", "Ticket",
            "Auth-Key", "Subscription-Key", "Functions-Key", "Access-Key", "Secret-Key", "Private-Key", "OTP", "Pin",
            "X-Pin", "Pwd", "Passwd", "CSRF", "XSRF",
        ],
        queryNames: [String] = Self.usualNames,
        jsonKeys: [String] = Self.usualJSONKeys
    ) {
        self.headers = headers
        self.queryNames = queryNames
        self.jsonKeys = jsonKeys
        headerNames = LazySecretNames(headers)
        pairNames = LazySecretNames(queryNames)
        memberNames = LazySecretNames(jsonKeys)
    }

    /// Returns whether both contain the same names.
    public static func == (one: Secrets, other: Secrets) -> Bool {
        (one.headers, one.queryNames, one.jsonKeys) == (other.headers, other.queryNames, other.jsonKeys)
    }

    /// Hashes the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(headers)
        hasher.combine(queryNames)
        hasher.combine(jsonKeys)
    }

    /// The default names of secrets in queries and forms.
    public static let usualNames = [
        "password", "passwd", "pwd", "secret", "client_secret", "token", "access_token", "refresh_token", "id_token",
        "api_key", "apikey", "auth", "authorization", "session", "session_id", "signature", "sig", "code", "otp", "pin",
        "passcode", "passphrase", "private_key", "secret_key", "access_key", "auth_code", "authorization_code",
        "verification_code", "device_code", "code_verifier", "cookie", "subscription_key",
        "password_confirmation", "assertion", "client_assertion", "jwt", "credential", "bearer", "id_token_hint",
        "SAMLResponse", "csrf", "xsrf",
    ]

    /// The default names of secrets in JSON: the ``usualNames``, and those of objects and arrays of secrets.
    public static let usualJSONKeys =
        usualNames + ["passwords", "secrets", "tokens", "access_tokens", "refresh_tokens", "credentials"]

    /// Whether the values of a header field are secret; those of `Authorization` always are.
    func isSecret(header name: String) -> Bool {
        name.isSameFieldName(as: "Authorization") || headers.contains { $0.isSameFieldName(as: name) }
            || headerNames.value.contains(name)
    }

    /// Whether the values of a name in a query or form are secret; the name may be percent-encoded.
    func isSecret(queryName name: String) -> Bool {
        pairNames.value.containsMember(PercentEncoding.unescaping(name) ?? name)
    }

    /// Whether the values of a member of a JSON object are secret.
    func isSecret(jsonKey name: String) -> Bool { memberNames.value.containsMember(name) }

    /// The library default.
    static let usual = Secrets()
}
