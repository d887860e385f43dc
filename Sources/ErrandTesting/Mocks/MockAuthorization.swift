import Foundation

/// The credentials that a request was sent with.
public struct MockAuthorization: Sendable, Hashable {
    /// The scheme as sent, such as `Bearer`.
    public let scheme: String
    /// What follows the scheme, such as a token.
    public let credentials: String

    init(_ field: String) {
        let parts = field.split(separator: " ", maxSplits: 1)
        scheme = parts.first.map(String.init) ?? ""
        credentials = parts.count > 1 ? String(parts[1]) : ""
    }

    /// The token of the scheme `Bearer`, or `nil` for another scheme.
    public var token: String? { scheme.lowercased() == "bearer" ? credentials : nil }

    /// The user and the password of the scheme `Basic`, or `nil` for another scheme or what is not in its format.
    public var basic: (user: String, password: String)? {
        guard scheme.lowercased() == "basic", let bytes = Data(base64Encoded: credentials) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: ":",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }
}
