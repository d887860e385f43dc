/// A challenge of a `WWW-Authenticate` field: the scheme and the parameters of the credential that a server requires (RFC 9110,
/// section 11.3).
///
/// ```swift
/// let realm = error.response?.challenges.first { $0.isScheme("Bearer") }?["realm"]
/// ```
///
/// The description contains the scheme and the names of the parameters, but none of their values.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme as written, such as `Digest`.
    public let scheme: String
    /// The data of a scheme that has no parameters, such as `Negotiate`, or `nil` if there is none.
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
    /// Text that does not follow the grammar is ignored up to the next comma. An empty field has no challenges.
    ///
    /// - Parameter field: The value of `WWW-Authenticate` or `Proxy-Authenticate`; several lines are joined by commas.
    /// - Returns: The challenges in their order, at most 100, each with at most 100 parameters.
    public static func challenges(in field: String) -> [AuthenticationChallenge] {
        var cursor = FieldCursor(field)
        var challenges: [AuthenticationChallenge] = []
        while challenges.count < maximumCount, let challenge = cursor.challenge() { challenges.append(challenge) }
        return challenges
    }

    /// Parses a list of parameters without a scheme, as in `Authentication-Info` (RFC 9110, section 11.6.3).
    static func parameters(in field: String) -> [String: String] {
        var cursor = FieldCursor(field)
        return cursor.challengeParameters()
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

extension FieldCursor {
    fileprivate mutating func challenge() -> AuthenticationChallenge? {
        while true {
            skip { $0.isFieldSpace || $0 == comma }
            guard !isAtEnd else { return nil }
            let scheme = token()
            let hasSpace = skipSpace()
            let isAlone = isAtEnd || next == comma
            // A parameter without a scheme, or no token at all.
            guard !scheme.isEmpty, isAlone || hasSpace && next != equals else {
                skip(to: comma)
                continue
            }
            if isAlone { return AuthenticationChallenge(scheme: scheme) }
            if let token68 = token68() { return AuthenticationChallenge(scheme: scheme, token68: token68) }
            return AuthenticationChallenge(scheme: scheme, parameters: challengeParameters())
        }
    }

    /// Reads parameters up to the next scheme, or to the end.
    fileprivate mutating func challengeParameters() -> [String: String] {
        var parameters: [String: String] = [:]
        while true {
            skip { $0.isFieldSpace || $0 == comma }
            let start = self
            let name = token().fieldNameKey
            skipSpace()
            guard !name.isEmpty else {
                guard !isAtEnd else { return parameters }
                skip(to: comma)
                continue
            }
            guard take(equals) else {
                self = start
                return parameters
            }
            skipSpace()
            let value = next == UInt8(ascii: "\"") ? value(upTo: ",") : token()
            if !hasOpenQuote, parameters[name] == nil, parameters.count < AuthenticationChallenge.maximumCount {
                parameters[name] = value
            }
            skip(to: comma)
        }
    }

    /// Reads a token68 that ends the challenge, or returns `nil` and reads nothing.
    private mutating func token68() -> String? {
        var copy = self
        copy.skip { $0.isASCIILetter || $0.isASCIIDigit || "-._~+/".utf8.contains($0) }
        guard copy.place > place else { return nil }
        copy.skip { $0 == equals }
        let text = copy.text(from: place)
        copy.skipSpace()
        guard copy.isAtEnd || copy.next == comma else { return nil }
        self = copy
        return text
    }
}

private let comma = UInt8(ascii: ",")
private let equals = UInt8(ascii: "=")
