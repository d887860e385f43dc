// The header fields of a request that a response depends on (RFC 9111, section 4.1).

extension CacheControl {
    /// The maximum number of fields that a response that is stored may depend on.
    static let maximumVaryCount = VariantIndex.maximumNameCount

    /// The names of the request's fields that a response depends on, in lower case and each once.
    ///
    /// If there are more than ``maximumVaryCount``, or one is not the name of a field, it is "*": the response depends on
    /// more than can be compared.
    static func varyNames(_ headers: HTTPHeaders) -> [String] {
        var names: [String] = []
        for line in headers.values(for: "Vary") {
            for member in line.split(separator: ",") {
                let name = String(member).withoutSurroundingSpace.lowercased()
                if name.isEmpty || names.contains(name) { continue }
                guard names.count < maximumVaryCount, name.utf8.allSatisfy(\.isTokenCharacter) else { return ["*"] }
                names.append(name)
            }
        }
        return names
    }

    /// The fields of a request that a response depends on.
    static func vary(_ response: HTTPHeaders, request: HTTPHeaders) -> [CacheEntry.VaryField] {
        varyNames(response).sortedUnspecialized(by: <).map {
            CacheEntry.VaryField(name: $0, digest: digest(request, $0))
        }
    }

    /// Whether a request has the same values in the fields that a stored response depends on (RFC 9111, section 4.1).
    static func matches(_ entry: CacheEntry, request: HTTPHeaders) -> Bool {
        entry.vary.allSatisfy { $0.name != "*" && $0.digest == digest(request, $0.name) }
    }

    /// A value may be a secret, so only its digest is kept; an empty one is that of a field that the request doesn't have.
    static func digest(_ headers: HTTPHeaders, _ name: String) -> String {
        NormalizedField.value(of: name, in: headers).map { SHA256.hexadecimal($0.utf8) } ?? ""
    }
}
