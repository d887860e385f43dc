/// A challenge of a `WWW-Authenticate` field: the scheme and the parameters by which a server asks for a credential (RFC
/// 9110, section 11.3).
///
/// ```swift
/// let realm = error.response?.challenges.first { $0.isScheme("Bearer") }?["realm"]
/// ```
///
/// The description contains the scheme and the names of the parameters, but none of their values.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme as written, such as `Digest`.
    public let scheme: String
    /// The data of a scheme that has no parameters, such as that of `Negotiate`, or `nil` if there is none.
    public let token68: String?
    /// The values of the parameters by their names in lower case, without quotation marks and escapes.
    ///
    /// If a name repeats, which is not allowed, the first one counts.
    public let parameters: [String: String]

    /// Creates a challenge, for tests.
    public init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = Dictionary(
            parameters.map { ($0.key.fieldNameKey, $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The value of a parameter, whose name is compared ignoring case, or `nil` if there is none.
    public subscript(name: String) -> String? { parameters[name.fieldNameKey] }

    /// The protection space that the server names, or `nil` if it names none (RFC 9110, section 11.5).
    public var realm: String? { self["realm"] }

    /// Returns whether the challenge is of a scheme, ignoring case.
    public func isScheme(_ name: String) -> Bool { scheme.isSameFieldName(as: name) }

    /// The maximum number of challenges of a response, and of parameters of a challenge; others are ignored.
    static let maximumCount = 100

    /// Parses a field with any number of challenges.
    ///
    /// What does not follow the grammar is ignored up to the next comma. An empty field has none.
    ///
    /// - Parameter field: The value of `WWW-Authenticate` or `Proxy-Authenticate`; several lines are joined by commas.
    /// - Returns: The challenges in their order, at most 100, each with at most 100 parameters.
    public static func challenges(in field: String) -> [AuthenticationChallenge] {
        var reader = ChallengeReader(field)
        var challenges: [AuthenticationChallenge] = []
        while challenges.count < maximumCount, let challenge = reader.next() { challenges.append(challenge) }
        return challenges
    }

    /// Parses a list of parameters without a scheme, as in `Authentication-Info` (RFC 9110, section 11.6.3).
    static func parameters(in field: String) -> [String: String] {
        var reader = ChallengeReader(field)
        return reader.parameters()
    }
}

extension HTTPHeaders {
    /// The challenges of `WWW-Authenticate`, in their order, of all its lines.
    public var challenges: [AuthenticationChallenge] {
        self["WWW-Authenticate"].map(AuthenticationChallenge.challenges) ?? []
    }
}

extension RawResponse {
    /// The challenges of `WWW-Authenticate`, in their order; empty if the response has none.
    public var challenges: [AuthenticationChallenge] { headers.challenges }
}

/// Reads challenges from the beginning of a field; each byte is read twice at most.
private struct ChallengeReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ field: String) { bytes = Array(field.utf8) }

    mutating func next() -> AuthenticationChallenge? {
        while true {
            skipSeparators()
            guard index < bytes.count else { return nil }
            let scheme = token()
            let hasSpace = skipSpace()
            // A parameter without a scheme, or no token at all.
            guard !scheme.isEmpty, index == bytes.count || bytes[index] == Self.comma || hasSpace && !isEquals else {
                skipToComma()
                continue
            }
            if index == bytes.count || bytes[index] == Self.comma {
                return AuthenticationChallenge(scheme: scheme)
            }
            if let token68 = token68() { return AuthenticationChallenge(scheme: scheme, token68: token68) }
            return AuthenticationChallenge(scheme: scheme, parameters: parameters())
        }
    }

    /// Reads parameters up to the next scheme, or to the end.
    mutating func parameters() -> [String: String] {
        var parameters: [String: String] = [:]
        while true {
            skipSeparators()
            let start = index
            let name = token().fieldNameKey
            skipSpace()
            guard !name.isEmpty else {
                guard index < bytes.count else { return parameters }
                skipToComma()
                continue
            }
            guard isEquals else {
                index = start
                return parameters
            }
            index += 1
            skipSpace()
            let value = index < bytes.count && bytes[index] == Self.quote ? quoted() : token()
            if let value, parameters[name] == nil, parameters.count < AuthenticationChallenge.maximumCount {
                parameters[name] = value
            }
            skipToComma()
        }
    }

    /// Reads what has the form of a token68 and ends the challenge, or returns `nil` and reads nothing.
    private mutating func token68() -> String? {
        var end = index
        while end < bytes.count, bytes[end].isToken68Character { end += 1 }
        guard end > index else { return nil }
        while end < bytes.count, bytes[end] == Self.equals { end += 1 }
        var after = end
        while after < bytes.count, bytes[after].isSpace { after += 1 }
        guard after == bytes.count || bytes[after] == Self.comma else { return nil }
        defer { index = after }
        return String(decoding: bytes[index..<end], as: UTF8.self)
    }

    private mutating func token() -> String {
        let start = index
        while index < bytes.count, bytes[index].isTokenCharacter { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// Reads a quoted string, or returns `nil` if it does not end.
    private mutating func quoted() -> String? {
        index += 1
        var value: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == Self.quote { return String(decoding: value, as: UTF8.self) }
            if byte == Self.backslash, index < bytes.count {
                value.append(bytes[index])
                index += 1
            } else {
                value.append(byte)
            }
        }
        return nil
    }

    private var isEquals: Bool { index < bytes.count && bytes[index] == Self.equals }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = index
        while index < bytes.count, bytes[index].isSpace { index += 1 }
        return index > start
    }

    private mutating func skipSeparators() {
        while index < bytes.count, bytes[index].isSpace || bytes[index] == Self.comma { index += 1 }
    }

    /// Skips to the next comma outside quoted strings.
    private mutating func skipToComma() {
        while index < bytes.count, bytes[index] != Self.comma {
            if bytes[index] == Self.quote { _ = quoted() } else { index += 1 }
        }
    }

    private static let comma = UInt8(ascii: ",")
    private static let equals = UInt8(ascii: "=")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 }

    fileprivate var isToken68Character: Bool { isASCIILetter || isASCIIDigit || "-._~+/".utf8.contains(self) }
}
