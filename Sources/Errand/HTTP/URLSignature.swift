/// The signature of a URL, whose query pairs change whenever the URL is signed, and don't identify the content.
///
/// Only complete schemes count: names such as `policy` and `sig` alone may identify the content, or its user.
struct URLSignature {
    private let names: Set<String>

    /// - Parameter pairs: The pairs of the query.
    init(of pairs: [Substring]) {
        let all = Set(pairs.map(Self.name))
        let schemes = Self.schemes.filter { $0.required.isSubset(of: all) }
        names = Set(schemes.flatMap { $0.required.union($0.changing) }).subtracting(["sv"])
    }

    /// Whether a pair of the query changes with the signature.
    func changes(_ pair: Substring) -> Bool {
        let name = Self.name(pair)
        return names.contains(name) || Self.prefixes.contains { name.hasPrefix($0) && names.contains($0 + "signature") }
    }

    private static func name(_ pair: Substring) -> String { pair.prefix { $0 != "=" }.lowercased() }

    /// The beginnings of the names of the signatures with version 4 of S3 and Google.
    private static let prefixes = ["x-amz-", "x-goog-"]

    /// The schemes of S3 and Google, their older schemes, which other services use too, and the schemes of CloudFront and
    /// Azure.
    private static let schemes: [(required: Set<String>, changing: Set<String>)] = [
        (["x-amz-signature"], []), (["x-goog-signature"], []),
        (["awsaccesskeyid", "expires", "signature"], []), (["googleaccessid", "expires", "signature"], []),
        (["ossaccesskeyid", "expires", "signature"], []),
        (["key-pair-id", "signature"], ["expires", "policy"]), (["sv", "sig"], ["se", "ske", "skt", "st"]),
    ]
}
