internal import Dispatch

extension ResponseCache {
    /// Returns the stored response that a request selects, whatever its age (RFC 9111, section 4.1).
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses; receives the key of the stored response.
    ///   - stop: Ends the lookup with the send.
    ///   - limit: Until when the store is waited for, or `nil` if it is waited for however long it takes.
    ///   - matches: Whether a stored response depends on the header fields that would be sent.
    /// - Returns: The stored response.
    /// - Throws: ``CacheMiss``, or `CancellationError`.
    func entry(
        at place: inout CachePlace,
        endedBy stop: StopSignal?,
        until limit: DispatchTime?,
        where matches: (CacheEntry) async throws -> Bool
    ) async throws -> CacheEntry {
        place.forgetFound()
        var own = responseBeingStored(at: place)
        if let entry = own, !(try await matches(entry)) { own = nil }
        if let own, !isLater(place.primary, than: own.requested.microseconds) { return own }
        return try await storedEntry(at: &place, endedBy: stop, until: limit, orVariant: own, where: matches)
    }

    /// The response that is being stored and that a request selects, unless it was removed.
    private func responseBeingStored(at place: CachePlace) -> CacheEntry? {
        guard let response = storings.response(at: place) else { return nil }
        return state.withLock { state in
            let key = place.primary.variantIndex
            return state.removals.allow(response.entry, for: key, since: response.ticket) ? response.entry : nil
        }
    }

    /// Returns the entry that is stored; if only a variant can be, that which is being stored, if there is one.
    func storedEntry(
        at place: inout CachePlace,
        endedBy stop: StopSignal?,
        until limit: DispatchTime?,
        orVariant own: CacheEntry? = nil,
        where matches: (CacheEntry) async throws -> Bool
    ) async throws -> CacheEntry {
        place.forgetFound()
        place.primaryMark = mark(of: place.primary)
        let miss: CacheMiss
        do {
            let entry = try await entry(for: place.primary, endedBy: stop, until: limit)
            if try await matches(entry) {
                place.find(entry)
                return entry
            }
            miss = .varyMismatch
        } catch let reason as CacheMiss where reason == .absent || reason == .damaged {
            miss = reason
        }
        if let own { return own }
        place.isPrimaryRead = true
        guard let index = try await readIndex(&place, endedBy: stop, until: limit) else {
            place.isLookedUp = true
            throw miss
        }
        guard let key = index.key(at: place) else {
            place.isLookedUp = true
            throw miss == .absent ? .varyMismatch : miss
        }
        do {
            let entry = try await entry(for: key, endedBy: stop, until: limit)
            place.isLookedUp = true
            guard try await matches(entry) else { throw CacheMiss.varyMismatch }
            place.found = key
            didUse(key, at: place.primary.variantIndex)
            return entry
        } catch CacheMiss.absent {
            place.isLookedUp = true
            throw CacheMiss.varyMismatch
        }
    }

    /// Reads the index of the variants, or returns `nil` if there is none.
    ///
    /// - Throws: ``CacheMiss/tooSlow``, or `CancellationError`.
    @discardableResult
    func readIndex(
        _ place: inout CachePlace,
        endedBy stop: StopSignal?,
        until limit: DispatchTime?
    ) async throws -> VariantIndex? {
        let ticket = ticket
        place.indexMark = mark(of: place.primary.variantIndex)
        do {
            let entry = try await entry(for: place.primary.variantIndex, endedBy: stop, until: limit)
            (place.index, place.isIndexRead) = ((entry, ticket), true)
            return VariantIndex(entry)
        } catch let miss as CacheMiss where miss != .tooSlow {
            (place.index, place.isIndexRead) = (nil, true)
            return nil
        }
    }

    /// Removes the stored response that was found, or all variants if none was; the send's own response may still be
    /// stored, and that of an earlier one may not.
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses.
    ///   - ticket: The send.
    ///   - keepsLater: Whether a response without a variant, or the one that was found, stays if it was requested later.
    func discard(_ place: CachePlace, by ticket: CacheRemovals.Ticket?, keepingLater keepsLater: Bool = false) {
        let date = now()
        let requested = (ticket?.date ?? date).microseconds
        _ = storings.supersede(at: place, upTo: requested, now: date.microseconds)
        discard(place.found ?? place.primary, by: ticket, unlessLaterThan: keepsLater ? requested : nil)
        if place.found == nil { discard(place.primary.variantIndex, by: ticket) }
    }

    /// Removes what the response of a send makes obsolete that isn't stored itself.
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses.
    ///   - ticket: The send.
    ///   - wasAbsent: Whether nothing was stored when the send looked it up.
    func discardObsolete(at place: CachePlace, by ticket: CacheRemovals.Ticket, wasAbsent: Bool) {
        var place = place
        let isOutdated = forgetOutdated(&place)
        if isOutdated { lookUpInMemory(&place) }
        let (requested, date) = (ticket.date.microseconds, now().microseconds)
        let isSettled = (wasAbsent || isOutdated) && place.isLookedUp
        if isSettled, place.found == nil {
            _ = storings.supersede(at: place, upTo: requested, now: date)
        } else {
            discard(place, by: ticket, keepingLater: true)
        }
        // The response of an earlier send, which is still being received, is obsolete too. If all variants are removed, so
        // is one that is earlier than these.
        state.withLock { state in
            let variant = isSettled || place.found != nil ? nil : state.requested.time(of: place.primary.variantIndex)
            let latest = max(requested, variant.flatMap { $0 <= date ? $0 : nil } ?? 0)
            if !isLater(place.primary, than: latest, in: state, at: date) {
                state.requested.note(place.primary, at: latest, isForAll: true)
            }
            if let key = place.indexedKey, !isLater(key, than: requested, in: state, at: date) {
                state.requested.note(key, at: requested)
            }
        }
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

    /// Changes an entry in memory only, if it is there; the closure is called under the lock.
    private func updateInMemory(_ key: CacheKey, _ change: (CacheEntry) -> CacheEntry?) {
        state.withLock { _ in
            if let entry = memory?.entry(for: key).flatMap(change) { memory?.store(entry, for: key) }
        }
    }
}
