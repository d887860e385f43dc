internal import Foundation

/// The credential that the authenticator of a session has added to a request.
///
/// It is sent only to URLs that the authenticator applies to, and not written to disk.
struct AppliedCredential: Sendable, Hashable {
    /// The header fields that it has set, which are never sent to another origin.
    var headers: [HTTPHeaders.Field] = []
    /// The encoded pairs that it has added to the query.
    private(set) var pairs: [String] = []
    /// The components from the first to the last that it has added to the path, decoded.
    private var components: [String] = []
    /// The added components that the request itself does not have.
    private var added: Set<String> = []
    /// The encoded components of the request that they replaced.
    private var replaced: [String] = []
    /// The index of the first component among all components of the path.
    private var place = 0

    /// Whether nothing was added.
    var isEmpty: Bool { headers.isEmpty && !isInURL }

    /// Whether the URL was changed.
    var isInURL: Bool { !pairs.isEmpty || !components.isEmpty }

    init() {}

    /// Creates the difference between the header fields and the URL of a request and the earlier ones.
    init(_ headers: HTTPHeaders, _ url: URL, addedTo old: (headers: HTTPHeaders, url: URL)) {
        self.headers = headers.filter { headers.values(for: $0.name) != old.headers.values(for: $0.name) }
        guard url != old.url else { return }
        pairs = url.queryPairs(notIn: old.url)
        let (new, before) = (Self.segments(of: url.path()), Self.segments(of: old.url.path()))
        guard new != before else { return }
        place = zip(new, before).prefix { $0 == $1 }.count
        let (changed, own) = (new.dropFirst(place), before.dropFirst(place))
        let last = zip(changed.reversed(), own.reversed()).prefix { $0 == $1 }.count
        components = changed.dropLast(last).map(Self.decoded)
        added = Set(components).subtracting(before.map(Self.decoded))
        replaced = Array(own.dropLast(last))
    }

    /// Adds the content of another credential.
    mutating func formUnion(_ other: AppliedCredential) {
        headers += other.headers.filter { !contains($0) }
        pairs += other.pairs.filter { !pairs.contains($0) }
        added.formUnion(other.added)
        if components.isEmpty { (components, replaced, place) = (other.components, other.replaced, other.place) }
    }

    /// Whether a header field contains the value that was set.
    func contains(_ field: HTTPHeaders.Field) -> Bool {
        headers.contains { $0.name.isSameFieldName(as: field.name) && field.value.contains($0.value) }
    }

    /// Whether the path of a URL contains an added component.
    func isInPath(of url: URL) -> Bool {
        !added.isEmpty && Self.segments(of: url.path()).contains { added.contains(Self.decoded($0)) }
    }

    /// Returns a URL without its fragment and the credential, for what is written to disk, and for links, because it is added
    /// to the next request too.
    func removed(from url: URL) -> URL {
        // A URL that was sent or received can be parsed.
        guard isInURL, var parts = try? URLParts(absolute: url.absoluteString) else { return url.withoutFragment }
        parts.removePairs(like: pairs)
        var segments = Self.segments(of: parts.path)
        if !components.isEmpty, segments.dropFirst(place).map(Self.decoded).starts(with: components) {
            segments.replaceSubrange(place..<place + components.count, with: replaced)
            let path = segments.joined(separator: "/")
            parts.path = path.hasPrefix("/") ? path : "/" + path
        }
        return (try? parts.url()) ?? url
    }

    private static func segments(of path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    private static func decoded(_ text: String) -> String { PercentEncoding.unescaping(text) ?? text }
}

extension URLParts {
    /// Removes every pair of the query that equals one of these after decoding.
    fileprivate mutating func removePairs(like pairs: [String]) {
        guard let query, !pairs.isEmpty else { return }
        let removed = Set(pairs.map { PercentEncoding.content(ofPair: $0) })
        let all = query.split(separator: "&", omittingEmptySubsequences: false)
        let left = all.filter { !removed.contains(PercentEncoding.content(ofPair: $0)) }
        if left.count < all.count { self.query = left.isEmpty ? nil : left.joined(separator: "&") }
    }
}

extension URL {
    /// Returns this URL without the pairs of its query that equal one of these after decoding.
    func removing(pairsLike pairs: [String]) throws(NetworkError) -> URL {
        guard !pairs.isEmpty, var parts = try URLParts(absolute: absoluteString) else { return self }
        parts.removePairs(like: pairs)
        return try parts.url()
    }

    /// The encoded pairs of the query that another URL does not have after decoding, because `URLComponents` encodes all of
    /// them again.
    fileprivate func queryPairs(notIn other: URL) -> [String] {
        let old = Set((other.query() ?? "").split(separator: "&").map { PercentEncoding.content(ofPair: $0) })
        return (query() ?? "").split(separator: "&").map(String.init)
            .filter { !old.contains(PercentEncoding.content(ofPair: $0)) }
    }
}
