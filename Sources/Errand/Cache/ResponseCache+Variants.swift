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
    /// Whether it is known what is stored.
    fileprivate(set) var isLookedUp = false
    /// The index as last read, and when.
    fileprivate var index: (entry: CacheEntry, time: IndexTime)?

    init(primary: CacheKey, request: HTTPHeaders, counted: Set<String>) {
        (self.primary, self.request, self.counted) = (primary, request, counted)
    }

    /// Whether a nominated field selects a variant: if the request has it, and it isn't part of the key anyway.
    func isSelecting(_ name: String) -> Bool { !counted.contains(name) && request.contains(name) }
}

/// When an index was read: what was removed since is known.
private struct IndexTime: Sendable {
    let ticket: CacheRemovals.Ticket
    let discards: Int
}

extension ResponseCache {
    /// Returns the stored response that a request selects, whatever its age (RFC 9111, section 4.1).
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses; receives the key of the stored response.
    ///   - stop: Ends the lookup with the send.
    ///   - patience: How long the send waits for the store before it does without an entry, or `nil` if it needs one.
    ///   - matches: Whether a stored response depends on the header fields that would be sent.
    /// - Returns: The stored response.
    /// - Throws: ``CacheMiss``, or `CancellationError`.
    func entry(
        at place: inout CachePlace,
        endedBy stop: StopSignal?,
        _ patience: CachePatience?,
        where matches: (CacheEntry) async throws -> Bool
    ) async throws -> CacheEntry {
        place.found = nil
        let miss: CacheMiss
        do {
            let entry = try await entry(for: place.primary, endedBy: stop, patience)
            place.isLookedUp = true
            if try await matches(entry) {
                place.found = place.primary
                return entry
            }
            miss = .varies
        } catch let reason as CacheMiss where reason == .absent || reason == .damaged {
            miss = reason
        }
        guard let index = try await readIndex(&place, endedBy: stop, patience) else { throw miss }
        place.isLookedUp = true
        guard let key = index.key(at: place) else { throw miss == .absent ? .varies : miss }
        do {
            let entry = try await entry(for: key, endedBy: stop, patience)
            guard try await matches(entry) else { throw CacheMiss.varies }
            place.found = key
            didUse(key, at: place.primary.variantIndex)
            return entry
        } catch CacheMiss.absent {
            throw CacheMiss.varies
        }
    }

    /// Reads the index of the variants, or returns `nil` if there is none.
    @discardableResult
    func readIndex(
        _ place: inout CachePlace,
        endedBy stop: StopSignal?,
        _ patience: CachePatience?
    ) async throws -> VariantIndex? {
        let time = IndexTime(ticket: ticket, discards: state.withLock(\.indexDiscards))
        do {
            let entry = try await entry(for: place.primary.variantIndex, endedBy: stop, patience)
            place.index = (entry, time)
            return VariantIndex(entry)
        } catch is CacheMiss {
            place.index = nil
            return nil
        }
    }

    /// Whether a response needs an index: if its request has fields that the server nominates.
    func needsIndex(_ entry: CacheEntry, at place: CachePlace) -> Bool {
        guard entry.vary.contains(where: { place.isSelecting($0.name) }) else { return false }
        // Nothing of such a response is written, and an index is.
        return !entry.isMemoryOnly && !CacheDirectives(entry.headers).noStore
    }

    /// Stores a response under the key of its variant: in memory at once, on disk soon after.
    ///
    /// If there are too many variants, the least recently used is removed. What the request selected before is replaced.
    func store(
        _ entry: CacheEntry,
        at place: CachePlace,
        since ticket: CacheRemovals.Ticket?,
        reportingTo write: CacheWrite? = nil
    ) {
        var key = place.primary
        if needsIndex(entry, at: place) {
            var excess: [CacheKey] = []
            let isStored = replace(key.variantIndex, by: entry, since: ticket) { known, state in
                // What was read before is current unless it was removed since.
                let read = place.index.flatMap { read in
                    read.time.discards == state.indexDiscards
                        && state.removals.allow(read.entry, for: key.variantIndex, since: read.time.ticket)
                        ? read.entry : nil
                }
                let names = entry.vary.map(\.name)
                var index = (known ?? read).flatMap { VariantIndex($0) } ?? VariantIndex(names: names)
                index.nominate(names)
                if let own = index.key(at: place) {
                    key = own
                    excess = index.use(own)
                }
                return index.entry(like: entry)
            }
            guard isStored else {
                write?.finish(.superseded)
                return
            }
            excess.forEach(discard)
        } else if entry.vary.isEmpty, place.index != nil || !place.isLookedUp {
            // The server no longer distinguishes variants.
            discardIndex(of: key)
        }
        if let found = place.found, found != key { discard(found) }
        store(entry, for: key, since: ticket, reportingTo: write)
        // It may have become the least recently used of too many since.
        if key != place.primary, !isListed(key, in: place.primary.variantIndex) { discard(key) }
    }

    private func isListed(_ key: CacheKey, in indexKey: CacheKey) -> Bool {
        let entry = state.withLock { memory?.entry(for: indexKey) ?? $0.pending.change(of: indexKey) ?? nil }
        return entry.flatMap { VariantIndex($0) }?.keys.contains(key) ?? true
    }

    /// Removes the stored response that was found, or all variants if none was; the send's own response may still be
    /// stored.
    func discard(_ place: CachePlace) {
        guard place.found == nil else { return place.found.map(discard) ?? () }
        discard(place.primary)
        discardIndex(of: place.primary)
    }

    private func discardIndex(of primary: CacheKey) {
        state.withLock { $0.indexDiscards &+= 1 }
        discard(primary.variantIndex)
    }

    /// Finds the response that is stored without a variant if a request selects it, so that a variant replaces it.
    func findPrimary(
        _ place: inout CachePlace,
        endedBy stop: StopSignal?,
        _ patience: CachePatience?,
        where matches: (CacheEntry) async throws -> Bool
    ) async throws {
        guard place.found == nil else { return }
        do {
            let entry = try await entry(for: place.primary, endedBy: stop, patience)
            if try await matches(entry) { place.found = place.primary }
        } catch let miss as CacheMiss where miss != .absent {
            // What cannot be read must not be found later.
            place.found = place.primary
        } catch is CacheMiss {}
    }

    /// Removes all variants of a cache key; responses that are still being received are not stored.
    func removeVariants(of primary: CacheKey) {
        remove(for: primary)
        remove(for: primary.variantIndex)
    }

    /// Makes a variant the most recently used in memory; on disk it is with the next one that is stored.
    private func didUse(_ key: CacheKey, at indexKey: CacheKey) {
        updateInMemory(indexKey) { entry in
            guard var index = VariantIndex(entry), index.keys.last != key, index.keys.contains(key) else { return nil }
            _ = index.use(key)
            return index.entry(like: entry)
        }
    }

    /// Replaces an entry by one that depends on it: in memory at once, on disk soon after.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - response: The response that changes it.
    ///   - ticket: Nothing changes if such a response was removed since.
    ///   - transform: Called under the lock with the entry, or `nil` if neither memory nor pending writes have it, and
    ///     with the state.
    /// - Returns: Whether the response may be stored.
    private func replace(
        _ key: CacheKey,
        by response: CacheEntry,
        since ticket: CacheRemovals.Ticket?,
        _ transform: (CacheEntry?, State) -> CacheEntry
    ) -> Bool {
        var isAllowed = false
        let number = state.withLock { state -> Int? in
            if let ticket, !state.removals.allow(response, for: key, since: ticket) { return nil }
            isAllowed = true
            let known = memory?.entry(for: key) ?? state.pending.change(of: key) ?? nil
            let new = transform(known, state)
            memory?.store(new, for: key)
            state.changes &+= 1
            guard disk != nil else { return nil }
            do {
                return try state.pending.add(new, for: key)
            } catch {
                state.lastFailure = error
                // In place of the newer index, the older one is removed, which needs no space.
                return try? state.pending.add(nil, for: key)
            }
        }
        if let number { write(key, number) }
        return isAllowed
    }

    /// Changes an entry in memory only, if it is there; the closure is called under the lock.
    private func updateInMemory(_ key: CacheKey, _ change: (CacheEntry) -> CacheEntry?) {
        state.withLock { _ in
            if let entry = memory?.entry(for: key).flatMap(change) { memory?.store(entry, for: key) }
        }
    }
}
