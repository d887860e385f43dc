public import Foundation

/// What must not be told: declared once, and honoured by errors, descriptions, logs and redirects.
///
/// Names compare without case. What is a secret is replaced by ``mask``; what cannot be taken apart is left out whole.
public struct Secrets: Sendable, Hashable {
    /// Fields whose values are secret; they are also left behind when a redirect leaves the origin.
    public var headers: [String]

    /// Names in queries and forms whose values are secret.
    public var queryNames: [String]

    /// Members of JSON objects, at any depth, whose values are secret.
    public var jsonKeys: [String]

    /// What stands in place of a secret.
    public static let mask = "•••"

    /// The names that most services use; add those of your own.
    public init(
        headers: [String] = [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-Session-Id", "X-Amz-Security-Token",
        ],
        queryNames: [String] = Self.usualNames,
        jsonKeys: [String] = Self.usualNames
    ) {
        self.headers = headers
        self.queryNames = queryNames
        self.jsonKeys = jsonKeys
    }

    /// Names that mean a secret in queries, forms and JSON alike.
    public static let usualNames = [
        "password", "passwd", "pwd", "secret", "client_secret", "token", "access_token", "refresh_token", "id_token",
        "api_key", "apikey", "auth", "authorization", "session", "session_id", "signature", "sig", "code", "otp", "pin",
    ]

    /// The value of a field as it may be told.
    public func telling(_ value: String, of header: String) -> String {
        headers.contains { $0.isSameFieldName(as: header) } ? Self.mask : value
    }

    /// A URL as it may be told: without user information, secret values of its query masked.
    public func telling(_ url: URL) -> String {
        let text = url.absoluteString
        guard let parts = try? URLParts(absolute: text) else {
            return url.scheme.map { "\($0):\(Self.mask)" } ?? Self.mask
        }
        guard let query = parts.query else { return parts.text }
        return parts.origin + parts.path + "?" + telling(pairs: query)
    }

    /// A query or form as it may be told.
    public func telling(pairs: String) -> String {
        pairs.split(separator: "&", omittingEmptySubsequences: false).map { pair -> String in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            let name = pair[..<equals]
            let plain = String(name).removingPercentEncoding ?? String(name)
            return isSecret(plain, among: queryNames) ? "\(name)=\(Self.mask)" : String(pair)
        }.joined(separator: "&")
    }

    /// JSON as it may be told.
    ///
    /// Recursion is bounded by the depth that the parser allows.
    public func telling(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(telling))
        case .object(let members):
            .object(
                JSONObject(
                    members.map { member in
                        (
                            member.name,
                            isSecret(member.name, among: jsonKeys) ? .string(Self.mask) : telling(member.value)
                        )
                    }
                )
            )
        default: value
        }
    }

    /// A body as it may be told: JSON and forms with their secrets masked, anything else by its size alone.
    public func telling(_ body: Data, mediaType: MediaType?) -> String {
        if body.isEmpty { return "" }
        if mediaType?.isJSON == true, let value = try? JSONValue(parsing: body) { return telling(value).description }
        if mediaType?.essence == "application/x-www-form-urlencoded" {
            return telling(pairs: String(decoding: body, as: UTF8.self))
        }
        return "\(body.count) bytes"
    }

    /// `a[password]` and `user.password` are as secret as `password`.
    private func isSecret(_ name: String, among secrets: [String]) -> Bool {
        let last = name.split { $0 == "[" || $0 == "]" || $0 == "." }.last.map(String.init) ?? name
        return secrets.contains { $0.isSameFieldName(as: name) || $0.isSameFieldName(as: last) }
    }
}
