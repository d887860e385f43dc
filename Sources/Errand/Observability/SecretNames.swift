/// The names of secrets, prepared for comparing many names with them.
struct SecretNames: Sendable {
    /// The listed names: lowercase letters and digits, without separators.
    private let names: Set<String>
    /// The names with which a longer name may end, by their number of letters.
    private let endings: [Int: Set<String>]
    /// The names with which a longer name may end in the middle of an apparent word, such as `accesstoken`.
    private let suffixes: [String]
    private let longest: Int

    /// Words that end many names that are not secrets: `statusCode`, `shippingPin`, `trainingSession`.
    private static let ambiguous: Set<String> = ["auth", "code", "pin", "session", "sig"]
    /// Words that end no other word.
    private static let unmistakable: Set<String> = [
        "password", "passwd", "passcode", "passphrase", "secret", "token", "apikey", "sessionid", "authorization",
    ]

    init(_ listed: [String]) {
        names = Set(listed.map { Self.words(of: $0).joined() })
        let endings = names.subtracting(Self.ambiguous).subtracting([""])
        self.endings = Dictionary(grouping: endings, by: \.utf8.count).mapValues(Set.init)
        longest = endings.map(\.utf8.count).max() ?? 0
        suffixes = Array(endings.intersection(Self.unmistakable))
    }

    /// Whether a name is one of these, or ends with one.
    func contains(_ name: String) -> Bool {
        let words = Self.words(of: name)
        let whole = words.joined()
        if names.contains(whole) || suffixes.contains(where: whole.hasSuffix) { return true }
        var ending = ""
        for word in words.reversed() {
            ending = word + ending
            // No listed name is longer; a server's name can have any number of words.
            if ending.utf8.count > longest { return false }
            if endings[ending.utf8.count]?.contains(ending) == true { return true }
        }
        return false
    }

    /// Whether a header field of this name distinguishes requests for traces or against repetition, as
    /// `X-Request-ID` does, without an effect on the response.
    static func namesOneRequest(_ name: String) -> Bool {
        let name = name.lowercased()
        return fieldsOfOneRequest.contains(name) || beginningsOfOneRequest.contains(where: name.hasPrefix)
    }

    /// Whether a word of a header field's name often refers to a user, as in `X-Org-ID`.
    static func mayNameUser(_ name: String) -> Bool {
        guard !name.isSameFieldName(as: "User-Agent"), !namesOneRequest(name) else { return false }
        return name.isSameFieldName(as: "From") || words(of: name).contains { wordsForUsers.contains($0) }
    }

    private static let wordsForUsers: Set<String> = [
        "account", "customer", "email", "employee", "identity", "impersonate", "login", "member", "org", "organization",
        "owner", "patient", "person", "principal", "profile", "subject", "tenant", "uid", "user", "userid", "username",
        "workspace",
    ]

    private static let beginningsOfOneRequest = ["x-b3-", "x-datadog-"]
    // Names for tracing and for unique requests. Only complete names count: `Pull-Request-ID` belongs to the service.
    private static let fieldsOfOneRequest: Set<String> = [
        "b3", "client-request-id", "correlation-id", "elastic-apm-traceparent", "idempotency-key", "newrelic",
        "nonce", "request-id", "sentry-trace", "trace-id", "traceparent", "tracestate", "uber-trace-id",
        "x-amzn-request-id", "x-amzn-requestid", "x-amzn-trace-id", "x-attempt", "x-ca-nonce",
        "x-client-request-id", "x-cloud-trace-context", "x-correlation-id", "x-ms-client-request-id",
        "x-ms-correlation-request-id", "x-nonce", "x-request-id", "x-retry-count", "x-trace", "x-trace-id",
    ]

    /// Whether a name or a part of a nested name is one of these: `a[password]`, `user.password` and `password[new]` are like
    /// `password`.
    func containsMember(_ name: String) -> Bool {
        if contains(name) { return true }
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: ".") }) else { return false }
        return name.split { $0 == "[" || $0 == "]" || $0 == "." }.contains { contains(String($0)) }
    }

    /// Returns the words of a name in lowercase, without digits at its end: `new-Password2` and `newPassword` are two words.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isAfterLower = false
        let characters = Array(name.unicodeScalars)
        for (index, scalar) in characters.enumerated() {
            guard scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) else {
                if !word.isEmpty { words.append(word) }
                (word, isAfterLower) = ("", false)
                continue
            }
            let isUpper = scalar.properties.isUppercase
            // A word begins with a capital after a small letter, and with the last of several: `userID`, `APIKey`.
            let next = index + 1 < characters.count ? characters[index + 1] : nil
            let endsCapitals = isUpper && !word.isEmpty && next?.properties.isLowercase == true
            if isUpper, isAfterLower || endsCapitals, !word.isEmpty {
                words.append(word)
                word = ""
            }
            word += scalar.properties.lowercaseMapping
            isAfterLower = !isUpper
        }
        if !word.isEmpty { words.append(word) }
        while let last = words.last {
            let letters = last.reversed().drop { ("0"..."9").contains($0) }
            guard letters.count < last.count else { break }
            words.removeLast()
            if letters.isEmpty { continue }
            words.append(String(letters.reversed()))
        }
        return words
    }
}

/// Names of secrets that are split into words at the first access.
final class LazySecretNames: Sendable {
    private let listed: [String]
    private let names = Lock<SecretNames?>(nil)

    init(_ listed: [String]) { self.listed = listed }

    var value: SecretNames {
        names.withLock { names in
            let value = names ?? SecretNames(listed)
            names = value
            return value
        }
    }
}
