// The header fields of a request that a response depends on (RFC 9111, section 4.1).

extension CacheControl {
    /// The names of the request's fields that a response depends on, in lower case.
    static func varyNames(_ headers: HTTPHeaders) -> [String] {
        headers.values(for: "Vary").flatMap(CacheDirectives.names).map { $0.lowercased() }
    }

    /// The fields of a request that a response depends on.
    static func vary(_ response: HTTPHeaders, request: HTTPHeaders) -> [CacheEntry.VaryField] {
        Set(varyNames(response)).sortedUnspecialized(by: <).map {
            CacheEntry.VaryField(name: $0, digest: digest(request, $0))
        }
    }

    /// Whether a request has the same values in the fields that a stored response depends on (RFC 9111, section 4.1).
    static func matches(_ entry: CacheEntry, request: HTTPHeaders) -> Bool {
        entry.vary.allSatisfy { $0.digest == digest(request, $0.name) }
    }

    /// A value may be a secret, so only its digest is kept; an empty one is that of a field that the request doesn't have.
    static func digest(_ headers: HTTPHeaders, _ name: String) -> String {
        NormalizedField.value(of: name, in: headers).map { SHA256.hexadecimal($0.utf8) } ?? ""
    }
}
