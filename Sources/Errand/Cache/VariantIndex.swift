internal import Foundation

/// The variants that are stored for one cache key, by the header fields that the server nominates with `Vary` (RFC 9111,
/// section 4.1).
///
/// It is an entry of its own, whose key follows from the cache key. A variant whose request has none of the nominated
/// fields is stored under the cache key itself, so that most responses need no index.
struct VariantIndex: Sendable, Equatable {
    /// The maximum number of variants, besides the one under the cache key; beyond that the least recently used is removed.
    static let maximumCount = 16
    /// The maximum number of fields that variants of different `Vary` fields may have together.
    static let maximumNameCount = 16

    /// A random text that is part of the variants' keys: without their index, they are never found again.
    private let nonce: String
    /// The nominated fields, in lower case and sorted.
    private(set) var names: [String]
    /// The keys of the variants, the least recently used first.
    private(set) var keys: [CacheKey] = []

    /// Creates an empty index.
    init(names: [String]) {
        self.names = names
        nonce = String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Adds the fields that another response nominates; if there would be too many, only those remain.
    mutating func nominate(_ others: [String]) {
        let all = Set(names + others)
        names = (all.count <= Self.maximumNameCount ? Array(all) : others).sortedUnspecialized(by: <)
    }

    /// Returns the key of the variant that a request selects, or `nil` if that is the cache key itself.
    func key(at place: CachePlace) -> CacheKey? {
        var digest = FieldDigest()
        var isThere = false
        digest.add(nonce)
        digest.add(place.primary.description)
        for name in names where place.isSelecting(name) {
            isThere = true
            digest.add(name)
            digest.add(CacheControl.digest(place.request, name))
        }
        return isThere ? place.primary.deriving(digest.words()) : nil
    }

    /// Makes a variant the most recently used.
    ///
    /// - Returns: The keys of the variants that exceed the maximum.
    mutating func use(_ key: CacheKey) -> [CacheKey] {
        keys.removeAll { $0 == key }
        keys.append(key)
        let excess = keys.prefix(max(0, keys.count - Self.maximumCount))
        keys.removeFirst(excess.count)
        return Array(excess)
    }
}

extension VariantIndex {
    // No field has such a name.
    private static let (nonceName, keyName) = (":variants", ":variant")

    /// Reads the index that an entry contains, or returns `nil` if it is a response.
    init?(_ entry: CacheEntry) {
        guard entry.isVariantIndex else { return nil }
        nonce = entry.vary[0].digest
        names = entry.vary.dropFirst().filter { $0.name != Self.keyName }.map(\.name)
        keys = entry.vary.filter { $0.name == Self.keyName }.compactMap { CacheKey(description: $0.digest) }
    }

    /// Returns the index as an entry that is removed in the same cases as a response.
    func entry(like response: CacheEntry) -> CacheEntry {
        var entry = response
        entry.body = Data()
        entry.headers = [:]
        entry.isVetted = true
        entry.vary = [CacheEntry.VaryField(name: Self.nonceName, digest: nonce)]
        entry.vary += names.map { CacheEntry.VaryField(name: $0, digest: "") }
        entry.vary += keys.map { CacheEntry.VaryField(name: Self.keyName, digest: $0.description) }
        return entry
    }

    /// Whether an entry is an index, and not a response.
    fileprivate static func isContained(in entry: CacheEntry) -> Bool { entry.vary.first?.name == nonceName }
}

extension CacheEntry {
    /// Whether it is a ``VariantIndex``, and not a response.
    var isVariantIndex: Bool { VariantIndex.isContained(in: self) }
}

extension CacheKey {
    /// The key of the ``VariantIndex`` of this key.
    var variantIndex: CacheKey { CacheKey(words: (words.0, words.1, words.2, ~words.3)) }

    /// Returns a key of the same URL.
    fileprivate func deriving(_ digest: (UInt64, UInt64, UInt64, UInt64)) -> CacheKey {
        CacheKey(words: (words.0, digest.0, digest.1, digest.2))
    }
}

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

    /// A value may be a secret, so only its digest is kept; an empty text stands for a field that the request doesn't have.
    static func digest(_ headers: HTTPHeaders, _ name: String) -> String {
        NormalizedField.value(of: name, in: headers).map { SHA256.hexadecimal($0.utf8) } ?? ""
    }
}
