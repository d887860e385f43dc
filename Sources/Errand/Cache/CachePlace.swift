internal import Foundation

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
    /// The fields that it depends on, and when it was requested, if it is stored without a variant; else `nil`.
    var foundPrimary: (vary: [CacheEntry.VaryField], requested: Int64)?
    /// Whether it is known what the request selects.
    var isLookedUp = false
    /// Whether it is known that the request doesn't select what is stored without a variant.
    var isPrimaryRead = false
    /// Whether it is known if there is an index.
    var isIndexRead = false
    /// What had been stored without a variant, and in the index, when they were read; see ``RecentTimes/mark(of:)``.
    var (primaryMark, indexMark): (UInt32, UInt32) = (0, 0)
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

extension CachePlace {
    /// Forgets what the request selects.
    mutating func forgetFound() {
        (found, foundPrimary, isLookedUp, isPrimaryRead) = (nil, nil, false, false)
    }

    /// Whether the request selects a response without a variant that depends on the same fields as another one, so that it
    /// hides the same variants.
    func hasFound(sameFieldsAs entry: CacheEntry) -> Bool {
        foundPrimary.map { $0.vary.map(\.name) == entry.vary.map(\.name) } ?? false
    }

    /// Notes that the request selects a response that is stored without a variant.
    mutating func find(_ entry: CacheEntry) {
        (found, foundPrimary, isLookedUp) = (primary, (entry.vary, entry.requested.microseconds), true)
    }

    /// Whether the request selects a response that hides the variants of an index, because another process has removed the
    /// index.
    func hasFound(hiding names: [String], before requested: Date) -> Bool {
        guard let found = foundPrimary, requested.microseconds < found.requested else { return false }
        return !names.allSatisfy { name in found.vary.contains { $0.name == name } }
    }
}

extension ResponseCache {
    /// Forgets what was read before the request was sent if other responses have been stored since.
    ///
    /// - Returns: Whether there was any.
    @discardableResult
    func forgetOutdated(_ place: inout CachePlace) -> Bool {
        let (primary, index) = (mark(of: place.primary), mark(of: place.primary.variantIndex))
        var isOutdated = false
        if place.isIndexRead, index != place.indexMark {
            isOutdated = true
            (place.index, place.isIndexRead) = (nil, false)
            if place.found != place.primary { (place.found, place.isLookedUp) = (nil, false) }
        }
        if place.isPrimaryRead || place.isLookedUp, primary != place.primaryMark {
            isOutdated = true
            place.forgetFound()
        }
        return isOutdated
    }

    /// Finds what a request selects as far as memory and pending writes have it.
    func lookUpInMemory(_ place: inout CachePlace) {
        if !place.isIndexRead {
            let (ticket, mark) = (ticket, mark(of: place.primary.variantIndex))
            if let index = entryInMemory(for: place.primary.variantIndex) {
                (place.index, place.isIndexRead, place.indexMark) = (index.map { ($0, ticket) }, true, mark)
            }
        }
        guard !place.isLookedUp else { return }
        let mark = mark(of: place.primary)
        if !place.isPrimaryRead, let primary = entryInMemory(for: place.primary) {
            (place.isPrimaryRead, place.primaryMark) = (true, mark)
            if let primary, CacheControl.matches(primary, request: place.request) { place.find(primary) }
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
