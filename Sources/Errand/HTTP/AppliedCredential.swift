internal import Foundation

/// What the authenticator of a session has added to a request: it is sent only to URLs that the authenticator applies to, and
/// neither shown nor written to disk.
struct AppliedCredential: Sendable, Hashable {
    /// The header fields that it has set, which are never sent to another origin.
    var headers: [HTTPHeaders.Field] = []
    /// The encoded pairs that it has added to the query.
    var pairs: [String] = []
    /// The decoded components that it has added to the path.
    var components: [String] = []

    /// What replaces a part of it in a text, as in ``URLParts/redacted(_:)``.
    static let mask = "…"

    /// Whether nothing was added.
    var isEmpty: Bool { headers.isEmpty && pairs.isEmpty && components.isEmpty }

    /// Adds what another one contains.
    mutating func formUnion(_ other: AppliedCredential) {
        headers += other.headers.filter { !contains($0) }
        pairs += other.pairs.filter { !pairs.contains($0) }
        components += other.components.filter { !components.contains($0) }
    }

    /// Whether a header field has the value that was set, or one that was made of it.
    func contains(_ field: HTTPHeaders.Field) -> Bool {
        headers.contains { $0.name.isSameFieldName(as: field.name) && field.value.contains($0.value) }
    }

    /// Whether the path of a URL contains a component of it.
    func isInPath(of url: URL) -> Bool {
        guard !components.isEmpty else { return false }
        let path = url.path(percentEncoded: false)
        return components.contains(where: path.contains)
    }

    /// Returns an encoded path with a mask in place of each segment that contains a component of it.
    func masking(path: String, with mask: String = Self.mask) -> String {
        components.isEmpty ? path : segments(of: path).map { isIn($0) ? mask : $0 }.joined(separator: "/")
    }

    /// Returns a query with a mask in place of the value of each of its pairs.
    func masking(query: String, with mask: String = Self.mask) -> String {
        guard !pairs.isEmpty else { return query }
        let contents = Set(pairs.map { PercentEncoding.content(ofPair: $0) })
        return query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard contents.contains(PercentEncoding.content(ofPair: pair)) else { return String(pair) }
            return "\(pair.prefix { $0 != "=" })=\(mask)"
        }.joined(separator: "&")
    }

    /// Returns a URL without it, for what is written to disk.
    func removed(from url: URL) -> URL {
        guard !pairs.isEmpty || !components.isEmpty else { return url }
        // What was sent, or received after it, can be parsed.
        guard let left = try? url.removing(pairsLike: pairs), var parts = try? URLParts(absolute: left.absoluteString)
        else { return url }
        if !components.isEmpty {
            let path = segments(of: parts.path).filter { !isIn($0) }.joined(separator: "/")
            parts.path = path.isEmpty ? "/" : path
        }
        return (try? parts.url()) ?? url
    }

    private func segments(of path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    private func isIn(_ segment: String) -> Bool {
        let decoded = PercentEncoding.unescaping(segment) ?? segment
        return components.contains(where: decoded.contains)
    }
}

extension URL {
    /// Returns this URL without every pair of its query that says the same as one of these, however it is encoded.
    func removing(pairsLike pairs: [String]) throws(NetworkError) -> URL {
        guard !pairs.isEmpty, var parts = try URLParts(absolute: absoluteString), let query = parts.query else {
            return self
        }
        let removed = Set(pairs.map { PercentEncoding.content(ofPair: $0) })
        let left = query.split(separator: "&", omittingEmptySubsequences: false)
            .filter { !removed.contains(PercentEncoding.content(ofPair: $0)) }
        parts.query = left.isEmpty ? nil : left.joined(separator: "&")
        return try parts.url()
    }
}
