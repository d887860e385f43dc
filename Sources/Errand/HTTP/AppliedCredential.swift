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
    /// The decoded components from the first to the last of them.
    private var changed: [String] = []
    /// The encoded components of the request in the place of these.
    private var replaced: [String] = []
    /// The index of the first of them among all components.
    private var place = 0
    /// The decoded components and pairs of the request itself, which are none of it.
    private var own: Set<String> = []

    /// What replaces a part of it in a text, as in ``URLParts/redacted(_:)``.
    static let mask = "…"

    /// Whether nothing was added.
    var isEmpty: Bool { headers.isEmpty && pairs.isEmpty && changed.isEmpty }

    init() {}

    /// Creates what distinguishes the header fields and the URL of a request from those before.
    init(_ headers: HTTPHeaders, _ url: URL, addedTo old: (headers: HTTPHeaders, url: URL)) {
        self.headers = headers.filter { headers.values(for: $0.name) != old.headers.values(for: $0.name) }
        guard url != old.url else { return }
        pairs = url.queryPairs(notIn: old.url)
        let (new, before) = (Self.decodedComponents(of: url), Self.decodedComponents(of: old.url))
        if new != before {
            let known = Set(before)
            components = new.filter { !$0.isEmpty && !known.contains($0) }
            let first = zip(new, before).prefix { $0 == $1 }.count
            let rest = zip(new.dropFirst(first).reversed(), before.dropFirst(first).reversed())
            let last = rest.prefix { $0 == $1 }.count
            changed = Array(new.dropFirst(first).dropLast(last))
            replaced = Self.segments(of: old.url.path()).dropFirst(first).dropLast(last)
            place = first
        }
        let oldPairs = (old.url.query() ?? "").split(separator: "&")
        own = Set(before + oldPairs.map { PercentEncoding.content(ofPair: $0) })
    }

    /// Adds what another one contains.
    mutating func formUnion(_ other: AppliedCredential) {
        headers += other.headers.filter { !contains($0) }
        pairs += other.pairs.filter { !pairs.contains($0) }
        components += other.components.filter { !components.contains($0) }
        if changed.isEmpty { (changed, replaced, place) = (other.changed, other.replaced, other.place) }
        own.formUnion(other.own)
    }

    /// Whether a header field has the value that was set, or one that was made of it.
    func contains(_ field: HTTPHeaders.Field) -> Bool {
        headers.contains { $0.name.isSameFieldName(as: field.name) && field.value.contains($0.value) }
    }

    /// Whether the path of a URL contains a component of it.
    func isInPath(of url: URL) -> Bool {
        guard !components.isEmpty else { return false }
        return areIn(Self.segments(of: url.path()), texts).contains(true)
    }

    /// Returns an encoded path with a mask in place of each segment that contains a component of it.
    func masking(path: String, with mask: String = Self.mask) -> String {
        guard !pairs.isEmpty || !components.isEmpty else { return path }
        let segments = Self.segments(of: path)
        return zip(segments, areIn(segments, texts)).map { $1 ? mask : $0 }.joined(separator: "/")
    }

    /// Returns a query with a mask in place of the value of each of its pairs, and of each that contains it.
    func masking(query: String, with mask: String = Self.mask) -> String {
        guard !pairs.isEmpty || !components.isEmpty else { return query }
        let (contents, texts) = (contents, texts)
        return query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard isIn(pair: pair, contents, texts) else { return String(pair) }
            let (name, value) = Self.nameAndValue(of: pair)
            // Without a value, the name is the credential.
            return value.isEmpty || isIn(name, texts) ? mask : "\(name)=\(mask)"
        }.joined(separator: "&")
    }

    /// Returns a URL without it, for what is written to disk.
    func removed(from url: URL) -> URL {
        guard !pairs.isEmpty || !components.isEmpty else { return url }
        // What was sent, or received after it, can be parsed.
        guard var parts = try? URLParts(absolute: url.absoluteString) else { return url }
        let (contents, texts) = (contents, texts)
        parts.removePairs { isIn(pair: $0, contents, texts) }
        let segments = Self.segments(of: parts.path)
        parts.path = Self.path(of: zip(segments, areIn(segments, texts)).filter { !$1 }.map(\.0))
        return (try? parts.url()) ?? url
    }

    /// Returns a URL that a response to the request leads to without it, because it is added to the next request too.
    func reverted(in url: URL) -> URL {
        guard !pairs.isEmpty || !changed.isEmpty, var parts = try? URLParts(absolute: url.absoluteString) else {
            return url
        }
        let contents = contents
        parts.removePairs { contents.contains(PercentEncoding.content(ofPair: $0)) }
        var segments = Self.segments(of: parts.path)
        let decoded = segments.map(Self.decoded)
        if !changed.isEmpty, let start = startOfChanged(in: decoded) {
            segments.replaceSubrange(start..<start + changed.count, with: replaced)
        }
        parts.path = Self.path(of: segments)
        return (try? parts.url()) ?? url
    }

    /// Returns where the components begin that are to be reverted; what the request itself has is one of these only in its place.
    private func startOfChanged(in decoded: [String]) -> Int? {
        if decoded.dropFirst(place).starts(with: changed) { return place }
        if own.isSuperset(of: changed) { return nil }
        return decoded.indices.first { decoded[$0...].starts(with: changed) }
    }

    // MARK: Parts of URLs

    /// The minimum number of bytes of a text that is not found by chance inside of another one.
    private static let minimumTextSize = 8

    /// The decoded pairs.
    private var contents: Set<String> { Set(pairs.map { PercentEncoding.content(ofPair: $0) }) }

    /// What shows a credential inside of another text, such as the URL of the request in that of a redirect.
    private var texts: [String] {
        let values = pairs.map { pair in
            let (name, value) = Self.nameAndValue(of: pair[...])
            return Self.decoded(value.isEmpty ? name : value)
        }
        return (components + values).filter { $0.utf8.count >= Self.minimumTextSize }.map(Self.withoutPlus)
    }

    /// Returns the parts of an encoded pair; behind the padding of Base64, there is no value.
    private static func nameAndValue(of pair: Substring) -> (name: Substring, value: Substring) {
        let name = pair.prefix { $0 != "=" }
        let value = pair[name.endIndex...].dropFirst()
        return value.allSatisfy { $0 == "=" } ? (name, value.prefix(0)) : (name, value)
    }

    /// Returns a text in which plus signs, which a query may have for spaces, are spaces.
    private static func withoutPlus(_ text: String) -> String { text.replacing("+", with: " ") }

    /// Returns which segments contain it, also together: servers decode the slash of a token.
    private func areIn(_ segments: [String], _ texts: [String]) -> [Bool] {
        var result = segments.map { isIn($0, texts) }
        let texts = texts.filter { $0.contains("/") }
        guard !texts.isEmpty else { return result }
        let decoded = segments.map { Self.withoutPlus(Self.decoded($0)) }
        for text in texts {
            // A slash at its beginning or end, or two in a row, may be left out.
            let parts = text.split(separator: "/").map(String.init)
            guard let head = parts.first, let tail = parts.last, parts.count <= segments.count else { continue }
            for start in 0...segments.count - parts.count {
                let found = decoded[start..<start + parts.count]
                guard found.first?.hasSuffix(head) == true, found.last?.hasPrefix(tail) == true,
                    found.dropFirst().dropLast().elementsEqual(parts.dropFirst().dropLast())
                else { continue }
                for index in found.indices { result[index] = true }
            }
        }
        return result
    }

    private func isIn(_ segment: some StringProtocol, _ texts: [String]) -> Bool {
        var text = String(segment)
        // A URL inside of another one is encoded more often.
        for _ in 0...4 {
            if own.contains(text) { return false }
            if components.contains(text) || texts.contains(where: Self.withoutPlus(text).contains) { return true }
            guard let decoded = PercentEncoding.unescaping(text) else { return false }
            text = decoded
        }
        return false
    }

    private func isIn(pair: Substring, _ contents: Set<String>, _ texts: [String]) -> Bool {
        let content = PercentEncoding.content(ofPair: pair)
        return contents.contains(content) || !own.contains(content) && isIn(pair, texts)
    }

    private static func segments(of path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    private static func path(of segments: [String]) -> String {
        let path = segments.joined(separator: "/")
        return path.hasPrefix("/") ? path : "/" + path
    }

    private static func decoded(_ text: some StringProtocol) -> String {
        PercentEncoding.unescaping(text) ?? String(text)
    }

    private static func decodedComponents(of url: URL) -> [String] { segments(of: url.path()).map(decoded) }
}

extension URLParts {
    /// Removes the pairs of the query that match.
    fileprivate mutating func removePairs(where isRemoved: (Substring) -> Bool) {
        guard let query else { return }
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false)
        let left = pairs.filter { !isRemoved($0) }
        if left.count < pairs.count { self.query = left.isEmpty ? nil : left.joined(separator: "&") }
    }
}

extension URL {
    /// Returns this URL without every pair of its query that says the same as one of these, however it is encoded.
    func removing(pairsLike pairs: [String]) throws(NetworkError) -> URL {
        guard !pairs.isEmpty, var parts = try URLParts(absolute: absoluteString) else { return self }
        let removed = Set(pairs.map { PercentEncoding.content(ofPair: $0) })
        parts.removePairs { removed.contains(PercentEncoding.content(ofPair: $0)) }
        return try parts.url()
    }

    /// The encoded pairs of the query that another URL does not have, however it is encoded: `URLComponents` writes all of
    /// them anew.
    fileprivate func queryPairs(notIn other: URL) -> [String] {
        guard let query = query() else { return [] }
        var old: [String: Int] = [:]
        for pair in other.query()?.split(separator: "&") ?? [] {
            old[PercentEncoding.content(ofPair: pair), default: 0] += 1
        }
        return query.split(separator: "&")
            .filter { pair in
                let content = PercentEncoding.content(ofPair: pair)
                guard let count = old[content], count > 0 else { return true }
                old[content] = count - 1
                return false
            }
            .map(String.init)
    }
}
