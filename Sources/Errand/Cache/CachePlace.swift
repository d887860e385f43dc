/// The place of a request's responses in a cache, with what is known of it.
///
/// A response to a request without any of the fields that it depends on is stored under the cache key, the others under keys
/// of their own, by a ``VariantIndex``.
struct CachePlace: Sendable {
    /// The primary cache key (RFC 9111, section 2).
    let primary: CacheKey
    /// The header fields of the request, by which variants are selected.
    let request: HTTPHeaders
    /// The names of the request's fields that are part of the key, in lower case.
    private let counted: Set<String>
    /// The key of the stored response that the request selects, or `nil` if none was found.
    private(set) var found: CacheKey?
    /// The fields that this response depends on if it is stored under the cache key, or `nil`.
    private(set) var plainFields: [String]?
    /// Whether it is known if the request selects what is stored under the cache key.
    private(set) var isPlainRead = false
    /// Whether it is known if there is an index.
    private(set) var isIndexRead = false
    /// The index as last read, behind one reference, because a place is copied with its response.
    private(set) var index: Shared<CacheEntry>?
    /// The number of changes of the URL's entries before it was read.
    var changes = 0

    init(primary: CacheKey, request: HTTPHeaders, counted: Set<String>) {
        (self.primary, self.request, self.counted) = (primary, request, counted)
    }

    /// The index, or `nil` if there is none.
    var variants: VariantIndex? { index.flatMap { VariantIndex($0.value) } }

    /// The key of the variant that the request selects by the index, or `nil` if there is none.
    var indexedKey: CacheKey? { variants?.key(at: self) }

    /// Whether a nominated field selects a variant: if the request has it, and it isn't part of the key anyway.
    func isSelecting(_ name: String) -> Bool { !counted.contains(name) && request.contains(name) }

    /// Whether the request has the fields that a stored response depends on.
    func matches(_ entry: CacheEntry) -> Bool { CacheControl.matches(entry, request: request) }

    /// Notes what is stored under the cache key.
    ///
    /// - Returns: Whether the request selects it.
    @discardableResult
    mutating func read(plain entry: CacheEntry?) -> Bool {
        isPlainRead = true
        if let entry, matches(entry) {
            (found, plainFields) = (primary, entry.vary.map(\.name))
        } else if found == primary {
            (found, plainFields) = (nil, nil)
        }
        return found == primary
    }

    /// Notes the index.
    mutating func read(index entry: CacheEntry?) { (index, isIndexRead) = (entry.map { Shared($0) }, true) }

    /// Forgets what is known of it.
    mutating func forget() { self = CachePlace(primary: primary, request: request, counted: counted) }

    /// Notes that the request selects a variant.
    mutating func find(variant key: CacheKey) { (found, plainFields) = (key, nil) }
}
