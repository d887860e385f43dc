/// The place of a request's responses in a cache.
struct CachePlace: Sendable {
    /// The primary cache key (RFC 9111, section 2).
    let primary: CacheKey
    /// The header fields of the request, by which variants are selected.
    let request: HTTPHeaders
    /// The names of those that are part of the key, in lower case.
    private let counted: Set<String>
    /// The key of the stored response that was found, or `nil` if none was.
    var found: CacheKey?
    /// Whether it is known what the request selects.
    var isLookedUp = false
    /// Whether it is known that the request doesn't select what is stored without a variant.
    var isPrimaryRead = false
    /// Whether it is known if there is an index.
    var isIndexRead = false
    /// The time of the last variant that this process had stored when the index was read.
    var indexTime: Int64?
    /// The index as last read, and when.
    var index: (entry: CacheEntry, ticket: CacheRemovals.Ticket)?

    init(primary: CacheKey, request: HTTPHeaders, counted: Set<String>) {
        (self.primary, self.request, self.counted) = (primary, request, counted)
    }

    /// The key of the variant that the request selects by the index, or `nil` if there is none.
    var indexedKey: CacheKey? { index.flatMap { VariantIndex($0.entry)?.key(at: self) } }

    /// Whether a nominated field selects a variant: if the request has it, and it isn't part of the key anyway.
    func isSelecting(_ name: String) -> Bool { !counted.contains(name) && request.contains(name) }
}

extension ResponseCache {
    /// Forgets what was read before the request was sent if other responses have been stored since.
    func forgetOutdated(_ place: inout CachePlace, for entry: CacheEntry) {
        let (primary, index) = (place.primary, place.primary.variantIndex)
        let (requested, indexed) = (time(of: primary), time(of: index))
        if place.isIndexRead, indexed != place.indexTime {
            (place.index, place.isIndexRead) = (nil, false)
            if place.found != primary { (place.found, place.isLookedUp) = (nil, false) }
        }
        if let requested, requested > entry.requested.microseconds || place.found != primary,
            place.isPrimaryRead || place.isLookedUp
        {
            (place.found, place.isLookedUp, place.isPrimaryRead) = (nil, false, false)
        }
    }

    /// Finds what a request selects as far as memory and pending writes have it.
    func lookUpInMemory(_ place: inout CachePlace) {
        if !place.isIndexRead {
            let (ticket, time) = (ticket, time(of: place.primary.variantIndex))
            if let index = entryInMemory(for: place.primary.variantIndex) {
                (place.index, place.isIndexRead, place.indexTime) = (index.map { ($0, ticket) }, true, time)
            }
        }
        guard !place.isLookedUp else { return }
        if !place.isPrimaryRead, let primary = entryInMemory(for: place.primary) {
            place.isPrimaryRead = true
            if let primary, CacheControl.matches(primary, request: place.request) {
                (place.found, place.isLookedUp) = (place.primary, true)
            }
        }
        guard place.isPrimaryRead, place.isIndexRead, !place.isLookedUp else { return }
        guard let key = place.indexedKey else {
            place.isLookedUp = true
            return
        }
        guard let variant = entryInMemory(for: key) else { return }
        place.isLookedUp = true
        if let variant, CacheControl.matches(variant, request: place.request) { place.found = key }
    }

    /// The entry of a key in memory or pending writes, `.some(nil)` if there is none at all, or `nil` if only the disk knows.
    private func entryInMemory(for key: CacheKey) -> CacheEntry?? {
        state.withLock { state -> CacheEntry?? in
            if let entry = memory?.entry(for: key) { return .some(entry) }
            return state.pending.change(of: key) ?? (disk == nil ? .some(nil) : nil)
        }
    }
}
