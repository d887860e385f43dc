internal import Foundation

/// The credential that the authenticator of a session has added to a request.
///
/// It is sent only to URLs that the authenticator applies to, and not written to disk.
struct AppliedCredential: Sendable, Hashable {
    /// The header fields that it has set, which are never sent to another origin.
    var headers: [HTTPHeaders.Field] = []
    /// The encoded pairs that it has added to the query.
    private(set) var pairs: [String] = []
    /// The components from the first to the last that it has added to the path, decoded; empty for a stored response.
    private var components: [String] = []
    /// The added components that the request itself does not have.
    private var added: Set<String> = []
    /// Where it has changed the URL.
    private(set) var outline = CredentialOutline()
    /// The URL without the credential, or `nil` if it is not part of the URL.
    private var own: URL?

    /// Whether nothing was added.
    var isEmpty: Bool { headers.isEmpty && !isInURL }

    /// Whether the URL was changed.
    var isInURL: Bool { own != nil }

    init() {}

    /// Creates the credential of a stored response, whose values are not known.
    init(_ outline: CredentialOutline, addedTo url: URL) {
        (self.outline, own) = (outline, url)
    }

    /// Creates the difference between the header fields and the URL of a request and the earlier ones.
    init(_ headers: HTTPHeaders, _ url: URL, addedTo old: (headers: HTTPHeaders, url: URL)) {
        self.headers = headers.filter { headers.values(for: $0.name) != old.headers.values(for: $0.name) }
        guard url != old.url else { return }
        pairs = url.queryPairs(notIn: old.url)
        outline.names = Set(pairs.map(CredentialOutline.name))
        let (new, before) = (Self.segments(of: url.path()), Self.segments(of: old.url.path()))
        if new != before {
            outline.place = zip(new, before).prefix { $0 == $1 }.count
            let (changed, rest) = (new.dropFirst(outline.place), before.dropFirst(outline.place))
            let last = zip(changed.reversed(), rest.reversed()).prefix { $0 == $1 }.count
            components = changed.dropLast(last).map(Self.decoded)
            added = Set(components).subtracting(before.map(Self.decoded))
            (outline.count, outline.replacedCount) = (components.count, rest.count - last)
        }
        if !outline.isEmpty { own = old.url }
    }

    /// Adds the content of another credential.
    mutating func formUnion(_ other: AppliedCredential) {
        headers += other.headers.filter { !contains($0) }
        pairs += other.pairs.filter { !pairs.contains($0) }
        added.formUnion(other.added)
        let names = outline.names.union(other.outline.names)
        if components.isEmpty { (components, outline) = (other.components, other.outline) }
        (outline.names, own) = (names, own ?? other.own)
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
        guard let own, var parts = try? URLParts(absolute: url.absoluteString) else { return url.withoutFragment }
        parts.removePairs(of: outline.names, notIn: own)
        var segments = Self.segments(of: parts.path)
        let before = Self.segments(of: own.path())
        let (place, end) = (outline.place, outline.place + outline.count)
        let isThere = segments.dropFirst(place).map(Self.decoded).starts(with: components)
        if outline.count > 0, isThere, segments != before, segments.count >= end {
            segments.replaceSubrange(place..<end, with: before.dropFirst(place).prefix(outline.replacedCount))
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

/// Where a credential was added to a URL, without any of its values, so that it can be stored with a response.
struct CredentialOutline: Sendable, Hashable {
    /// The names of the added pairs of the query, decoded; empty for a pair without one.
    var names: Set<String> = []
    /// The index of the first added component among all components of the path.
    var place = 0
    /// The number of the added components.
    var count = 0
    /// The number of components of the request that they replaced.
    var replacedCount = 0

    /// Whether the URL was not changed.
    var isEmpty: Bool { names.isEmpty && count == 0 }

    /// Returns the decoded name of a pair.
    ///
    /// A token without a name may end with the `=` of Base64, and is no name.
    static func name(of pair: some StringProtocol) -> String {
        let end = pair.firstIndex(of: "=") ?? pair.endIndex
        return pair[end...].allSatisfy { $0 == "=" } ? "" : PercentEncoding.content(ofPair: pair[..<end])
    }
}

extension URLParts {
    /// Removes the pairs of the query with these names, except as many of each as the request itself has, which come first.
    fileprivate mutating func removePairs(of names: Set<String>, notIn own: URL) {
        var kept = (own.query() ?? "").split(separator: "&").map(CredentialOutline.name)
        removePairs { pair in
            let name = CredentialOutline.name(of: pair)
            guard let index = kept.firstIndex(of: name) else { return names.contains(name) }
            kept.remove(at: index)
            return false
        }
    }

    fileprivate mutating func removePairs(where isRemoved: (Substring) -> Bool) {
        guard let query else { return }
        let all = query.split(separator: "&", omittingEmptySubsequences: false)
        let left = all.filter { !isRemoved($0) }
        if left.count < all.count { self.query = left.isEmpty ? nil : left.joined(separator: "&") }
    }
}

extension URL {
    /// Returns this URL without the pairs of its query that equal one of these after decoding.
    func removing(pairsLike pairs: [String]) throws(NetworkError) -> URL {
        guard !pairs.isEmpty, var parts = try URLParts(absolute: absoluteString) else { return self }
        let removed = Set(pairs.map { PercentEncoding.content(ofPair: $0) })
        parts.removePairs { removed.contains(PercentEncoding.content(ofPair: $0)) }
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
