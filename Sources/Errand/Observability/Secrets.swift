internal import Foundation

/// The names of values that are secret, which never leave their origin, and of values that are harmless, which are shown.
///
/// ``shown`` alone determines which values are shown: errors, descriptions, logs, plans and curl commands contain a value only
/// if its header field, parameter or JSON member has a name that is listed as harmless. ``mask`` replaces every other value.
///
/// ``headers`` and ``queryNames`` determine what is removed from a request that leaves its origin, and which requests have
/// different users. Their names are compared without case, `_` and `-`: `access_token`, `accessToken` and `Access-Token` are
/// the same name. A name is also secret if it ends with the words of a listed name, as `newPassword` and `X-Upload-Token` do
/// for `password` and `Token`; digits at its end do not count. The names `auth`, `code`, `pin`, `session` and `sig` only match
/// complete names, because many names that end with them, such as `statusCode`, are not secrets.
public struct Secrets: Sendable, Hashable {
    /// The header fields whose values are secret.
    ///
    /// They are removed when a redirect leaves the origin.
    public var headers: [String] { didSet { headerNames = LazySecretNames(headers) } }

    /// The names in queries and forms whose values are secret.
    public var queryNames: [String] { didSet { pairNames = LazySecretNames(queryNames) } }

    /// The names of header fields, parameters and JSON members whose values are shown, in addition to the library's names, such
    /// as `Content-Type`, `Retry-After` and `page`.
    ///
    /// They are compared without case. A name that is also secret is shown nevertheless.
    public var shown: [String]

    private var headerNames: LazySecretNames
    private var pairNames: LazySecretNames

    /// The text that replaces a value that is not shown.
    public static let mask = DeclaredPath.mask

    /// The names whose values are harmless, in lower case.
    static let harmless: Set<String> = [
        "accept", "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "cache-control", "connection",
        "content-encoding", "content-language", "content-length", "content-range", "content-type", "date", "expires",
        "host", "if-modified-since", "if-unmodified-since", "keep-alive", "last-modified", "pragma", "range",
        "retry-after", "server", "traceparent", "transfer-encoding", "user-agent", "vary", "via", "x-requested-with",
        "page", "page_size", "pagesize", "per_page", "perpage", "limit", "offset", "count", "size", "total", "sort",
        "order", "format", "lang", "language", "locale", "version",
    ]

    /// Creates a list of secrets, and of names whose values are shown.
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
        shown: [String] = []
    ) {
        self.headers = headers
        self.queryNames = queryNames
        self.shown = shown
        headerNames = LazySecretNames(headers)
        pairNames = LazySecretNames(queryNames)
    }

    /// Returns whether both contain the same names.
    public static func == (one: Secrets, other: Secrets) -> Bool {
        (one.headers, one.queryNames, one.shown) == (other.headers, other.queryNames, other.shown)
    }

    /// Hashes the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(headers)
        hasher.combine(queryNames)
        hasher.combine(shown)
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

    /// Whether the values of a header field are secret, as values of `Authorization` always are.
    package func isSecret(header name: String) -> Bool {
        name.isSameFieldName(as: "Authorization") || headers.contains { $0.isSameFieldName(as: name) }
            || headerNames.value.contains(name)
    }

    /// Whether the values of a name in a query or form are secret; the name may be percent-encoded.
    package func isSecret(queryName name: String) -> Bool {
        pairNames.value.containsMember(PercentEncoding.unescaping(name) ?? name)
    }

    /// The library default.
    static let usual = Secrets()
}
