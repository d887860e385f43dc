internal import Foundation

/// A challenge of Digest (RFC 7616, section 3.3) that can be responded to.
struct DigestChallenge: Sendable, Equatable {
    enum Algorithm: String, Sendable, CaseIterable {
        // From the weakest to the strongest.
        case md5 = "MD5"
        case md5Session = "MD5-sess"
        case sha256 = "SHA-256"
        case sha256Session = "SHA-256-sess"

        var isSession: Bool { self == .md5Session || self == .sha256Session }
        var strength: Int { self == .md5 || self == .md5Session ? 0 : 1 }

        func hash(_ text: String) -> String { hash(text.utf8) }

        func hash(_ bytes: some Collection<UInt8>) -> String {
            strength == 0 ? MD5.hexadecimal(bytes) : SHA256.hexadecimal(bytes)
        }
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// Whether the challenge names the algorithm; the response then does so, too.
    let namesAlgorithm: Bool
    /// The offered qualities of protection, or `nil` for a server of RFC 2069.
    let qualities: Set<String>?
    /// Whether the user name is sent as a hash.
    let hashesUser: Bool
    /// Whether the nonce of the request was no longer valid, although the user and the password were.
    let isStale: Bool

    /// The maximum number of bytes of a realm, a nonce or an opaque text that is sent back.
    private static let maximumByteCount = 4096

    /// Creates a challenge, or returns `nil` if it is of another scheme, or cannot be responded to.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isScheme("Digest"), let realm = challenge.realm, let nonce = challenge["nonce"] else {
            return nil
        }
        let name = challenge["algorithm"]
        let algorithm = Algorithm.allCases.first { $0.rawValue.isSameFieldName(as: name ?? "MD5") }
        // A session key depends on the client's nonce, which is sent with a quality of protection only.
        guard let algorithm, !algorithm.isSession || challenge["qop"] != nil,
            [realm, nonce, challenge["opaque"] ?? ""].allSatisfy(Self.isSendable)
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        self.algorithm = algorithm
        namesAlgorithm = name != nil
        qualities = challenge["qop"].map { text in
            Set(text.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() })
        }
        hashesUser = challenge["userhash"]?.isSameFieldName(as: "true") == true
        isStale = challenge["stale"]?.isSameFieldName(as: "true") == true
    }

    /// Whether responses to both are the same, except for the nonce.
    func isLike(_ other: DigestChallenge) -> Bool {
        realm == other.realm && opaque == other.opaque && algorithm == other.algorithm && qualities == other.qualities
            && namesAlgorithm == other.namesAlgorithm && hashesUser == other.hashesUser
    }

    /// Whether a text of the server can be sent back.
    static func isSendable(_ text: String) -> Bool {
        text.utf8.count <= maximumByteCount && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Returns why none of the challenges can be responded to, or `nil` if none is of Digest.
    static func words(forUnsupported challenges: [AuthenticationChallenge]) -> String? {
        guard let challenge = challenges.first(where: { $0.isScheme("Digest") }) else { return nil }
        if challenges.contains(where: { DigestChallenge($0) != nil }) {
            return "; Digest does not respond, because the challenge is weaker than what the origin has accepted before"
        }
        let algorithm = challenge["algorithm"]?.shortened(to: 40) ?? "MD5"
        return "; Digest cannot respond to the challenge, whose algorithm is \(algorithm)"
    }

    /// The protection of a response to a challenge.
    struct Protection: OptionSet, Sendable {
        let rawValue: Int
        static let sha256 = Protection(rawValue: 1)
        /// A count and a nonce of the client.
        static let quality = Protection(rawValue: 2)
    }

    var protection: Protection {
        let hash: Protection = algorithm.strength > 0 ? .sha256 : []
        return qualities == nil ? hash : hash.union(.quality)
    }

    /// Returns the first of the challenges with the strongest algorithm, or `nil` if none can be responded to with at least
    /// this protection.
    static func strongest(
        of challenges: [AuthenticationChallenge],
        atLeast protection: Protection = []
    ) -> DigestChallenge? {
        let known = challenges.compactMap(DigestChallenge.init).filter { $0.protection.isSuperset(of: protection) }
        let strength = known.map(\.algorithm.strength).max()
        return known.first { $0.algorithm.strength == strength }
    }
}

/// The authentication session of a user with a server: from a challenge to the next one (RFC 7616, section 3.4).
struct DigestSession: Sendable {
    let challenge: DigestChallenge
    /// The nonce to use, which the server may have replaced since the challenge.
    var nonce: String { didSet { if nonce != oldValue { count = 0 } } }
    /// Whether the server has accepted a request.
    var isProven = false
    private let user: String
    private let clientNonce: String
    /// The hash of A1 of the first request, for all algorithms (section 3.4.2).
    private let secret: String
    /// The number of requests with the nonce.
    private var count: UInt32 = 0

    init(_ challenge: DigestChallenge, user: String, password: String, clientNonce: String) {
        self.challenge = challenge
        nonce = challenge.nonce
        let (user, password) = (
            user.precomposedStringWithCanonicalMapping, password.precomposedStringWithCanonicalMapping
        )
        self.user = user
        self.clientNonce = clientNonce
        let hash = challenge.algorithm.hash("\(user):\(challenge.realm):\(password)")
        secret =
            challenge.algorithm.isSession
            ? challenge.algorithm.hash("\(hash):\(challenge.nonce):\(clientNonce)") : hash
    }

    /// Counts a request.
    ///
    /// A nonce that was used 2^32 - 1 times is not used again; the server sends a new one.
    mutating func skip() { if count < .max { count += 1 } }

    /// Returns the value of the `Authorization` field for the next request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The path and the query, as they are sent.
    ///   - body: The content of the request, or `nil` if it is not in memory.
    /// - Returns: The value, or `nil` if the server requires a hash of content that is not in memory, or an unknown quality of
    ///   protection.
    func authorization(method: HTTPMethod, target: String, body: Data?) -> String? {
        let algorithm = challenge.algorithm
        var quality: String?
        if let offered = challenge.qualities {
            guard let chosen = offered.contains("auth") ? "auth" : offered.contains("auth-int") ? "auth-int" : nil
            else {
                return nil
            }
            quality = chosen
        }
        var request = "\(method.rawValue):\(target)"
        if quality == "auth-int" {
            guard let body else { return nil }
            request += ":" + algorithm.hash(body)
        }
        guard count < .max else { return nil }
        let digits = String(count + 1, radix: 16)
        let number = String(repeating: "0", count: 8 - digits.utf8.count) + digits
        let middle = quality.map { "\(number):\(clientNonce):\($0):" } ?? ""
        let response = algorithm.hash("\(secret):\(nonce):\(middle)\(algorithm.hash(request))")

        var fields = [userField, "realm=\(challenge.realm.quoted)", "uri=\(target.quoted)"]
        if challenge.namesAlgorithm { fields.append("algorithm=\(algorithm.rawValue)") }
        fields.append("nonce=\(nonce.quoted)")
        if let quality { fields += ["nc=\(number)", "cnonce=\(clientNonce.quoted)", "qop=\(quality)"] }
        fields.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { fields.append("opaque=\(opaque.quoted)") }
        if challenge.hashesUser { fields.append("userhash=true") }
        return "Digest " + fields.joined(separator: ", ")
    }

    /// The parameter with the user: hashed, or in the encoding of RFC 8187 if it is not ASCII.
    private var userField: String {
        if challenge.hashesUser { return "username=\"\(challenge.algorithm.hash("\(user):\(challenge.realm)"))\"" }
        guard !user.utf8.allSatisfy({ $0 < 0x80 }) else { return "username=\(user.quoted)" }
        let bytes = user.utf8.map { byte in
            byte.isASCIILetter || byte.isASCIIDigit || "!#$&+-.^_`|~".utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
        return "username*=UTF-8''" + bytes.joined()
    }
}

extension String {
    /// The text as a quoted string (RFC 9110, section 5.6.4).
    fileprivate var quoted: String {
        "\"" + escaping { $0 == UInt8(ascii: "\\") ? #"\\"# : $0 == UInt8(ascii: "\"") ? #"\""# : nil } + "\""
    }
}
