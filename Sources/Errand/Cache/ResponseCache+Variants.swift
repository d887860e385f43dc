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
        (place.found, place.isLookedUp, place.isPrimaryRead) = (nil, false, false)
        try await storings.wait(for: place.primary, endedBy: stop, patience, timers: timers)
        return try await storedEntry(at: &place, endedBy: stop, patience, where: matches)
    }

    /// Returns the entry without waiting for what is being stored.
    private func storedEntry(
        at place: inout CachePlace,
        endedBy stop: StopSignal?,
        _ patience: CachePatience?,
        where matches: (CacheEntry) async throws -> Bool
    ) async throws -> CacheEntry {
        (place.found, place.isLookedUp, place.isPrimaryRead) = (nil, false, false)
        let miss: CacheMiss
        do {
            let entry = try await entry(for: place.primary, endedBy: stop, patience)
            if try await matches(entry) {
                (place.found, place.isLookedUp) = (place.primary, true)
                return entry
            }
            miss = .varyMismatch
        } catch let reason as CacheMiss where reason == .absent || reason == .damaged {
            miss = reason
        }
        place.isPrimaryRead = true
        guard let index = try await readIndex(&place, endedBy: stop, patience) else {
            place.isLookedUp = true
            throw miss
        }
        guard let key = index.key(at: place) else {
            place.isLookedUp = true
            throw miss == .absent ? .varyMismatch : miss
        }
        do {
            let entry = try await entry(for: key, endedBy: stop, patience)
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
        _ patience: CachePatience?
    ) async throws -> VariantIndex? {
        let ticket = ticket
        place.indexTime = time(of: place.primary.variantIndex)
        do {
            let entry = try await entry(for: place.primary.variantIndex, endedBy: stop, patience)
            (place.index, place.isIndexRead) = ((entry, ticket), true)
            return VariantIndex(entry)
        } catch let miss as CacheMiss where miss != .tooSlow {
            (place.index, place.isIndexRead) = (nil, true)
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
    /// If there are too many variants, the least recently used is removed. What the request selected before is replaced. If
    /// it is not known what that is, it is read first, without delaying the caller; a response that needs no index is
    /// stored before that.
    func store(
        _ entry: CacheEntry,
        at place: CachePlace,
        since ticket: CacheRemovals.Ticket?,
        reportingTo write: CacheWrite? = nil
    ) {
        let needsIndex = needsIndex(entry, at: place)
        var place = place
        forgetOutdated(&place, for: entry)
        lookUpInMemory(&place)
        // Without an index of its own, it replaces what is stored under the cache key; only an index may have another one.
        if needsIndex ? place.isLookedUp && place.isIndexRead : place.isLookedUp || place.isIndexRead,
            replace(place, by: entry, since: ticket, reportingTo: write)
        {
            return
        }
        let kept = needsIndex ? entry : nil
        // What is removed meanwhile must not come back, whoever stores it.
        let since = ticket ?? self.ticket
        let (requested, isForAll) = (entry.requested.microseconds, entry.vary.isEmpty)
        let isStarted = storings.start(kept.map { _ in place.primary }, cost: kept?.cost ?? 0) { [self, place] in
            var place = place
            let request = place.request
            guard let kept else {
                // What cannot be read is not there.
                if !place.isIndexRead { _ = try? await readIndex(&place, endedBy: nil, nil) }
                let key = isForAll ? place.index.map { _ in place.primary.variantIndex } : place.indexedKey
                // A response that was requested later stays.
                if let key, !isLater(key, than: requested) { discard(key, by: since) }
                return
            }
            for _ in 0..<Self.maximumReadCount {
                _ = try? await storedEntry(at: &place, endedBy: nil, nil) { CacheControl.matches($0, request: request) }
                _ = try? await readIndex(&place, endedBy: nil, nil)
                if replace(place, by: kept, since: since, reportingTo: write) { return }
            }
            replace(place, by: kept, since: since, reportingTo: write, isForced: true)
        }
        if !isStarted, needsIndex, !place.isPrimaryRead { discard(place.primary, by: ticket) }
        if !needsIndex || !isStarted { replace(place, by: entry, since: ticket, reportingTo: write, isForced: true) }
        if !isStarted, !needsIndex { discard(place.primary.variantIndex, by: ticket) }
    }

    /// How often an index is read again because others have changed it meanwhile.
    private static let maximumReadCount = 16

    /// Replaces the response that a request selects.
    ///
    /// - Returns: Whether it is decided if the response is stored: not if the index has changed since it was read.
    @discardableResult
    private func replace(
        _ place: CachePlace,
        by entry: CacheEntry,
        since ticket: CacheRemovals.Ticket?,
        reportingTo write: CacheWrite?,
        isForced: Bool = false
    ) -> Bool {
        var key = place.primary
        // A response that was requested later stays.
        let needsIndex = needsIndex(entry, at: place)
        let isSeparate = place.index.flatMap { VariantIndex($0.entry) }?.names.allSatisfy { name in
            entry.vary.contains { $0.name == name }
        }
        // Under the cache key, it may be found in place of any variant whose fields it does not depend on.
        let hidesVariants = !needsIndex && !(isSeparate ?? !entry.vary.isEmpty)
        let index = hidesVariants && !(place.isLookedUp && place.index == nil) ? place.primary.variantIndex : nil
        let replaced = [place.found, place.indexedKey, index].compactMap(\.self)
        let requested = entry.requested.microseconds
        if ticket != nil, replaced.contains(where: { isLater($0, than: requested) }) {
            write?.finish(.superseded)
            return true
        }
        if needsIndex {
            var (excess, isOutdated) = ([CacheKey](), false)
            let isStored = replace(key.variantIndex, by: entry, since: ticket) { known, state in
                let time = state.requested.time(of: place.primary.variantIndex)
                isOutdated = known == nil && time != place.indexTime && !isForced
                guard !isOutdated else { return nil }
                // What was read before is current unless it was removed since.
                let read = place.index.flatMap { read in
                    state.removals.allow(read.entry, for: key.variantIndex, since: read.ticket) ? read.entry : nil
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
            if isOutdated { return false }
            guard isStored else {
                write?.finish(.superseded)
                return true
            }
            for key in excess { discard(key) }
        } else if entry.vary.isEmpty, place.index != nil {
            // The server no longer distinguishes variants.
            discard(key.variantIndex, by: ticket)
        } else if let old = place.indexedKey, old != place.found {
            discard(old, by: ticket)
        }
        if let found = place.found, found != key { discard(found, by: ticket) }
        store(entry, for: key, since: ticket, reportingTo: write)
        // It may have become the least recently used of too many since.
        if key != place.primary, !isListed(key, in: place.primary.variantIndex) { discard(key) }
        return true
    }

    /// The time at which the response that this process has last stored for a key was requested.
    func time(of key: CacheKey) -> Int64? { state.withLock { $0.requested.time(of: key) } }

    /// Whether the response that is stored for a key was requested later than another one.
    private func isLater(_ key: CacheKey, than requested: Int64) -> Bool {
        let date = now().microseconds
        let latest = state.withLock { state -> Int64? in
            let current = memory?.entry(for: key) ?? state.pending.change(of: key).flatMap(\.self)
            return current?.requested.microseconds ?? state.requested.time(of: key)
        }
        return latest.map { $0 > requested && $0 <= date } ?? false
    }

    private func isListed(_ key: CacheKey, in indexKey: CacheKey) -> Bool {
        let entry = state.withLock { memory?.entry(for: indexKey) ?? $0.pending.change(of: indexKey) ?? nil }
        return entry.flatMap { VariantIndex($0) }?.keys.contains(key) ?? true
    }

    /// Removes the stored response that was found, or all variants if none was; the send's own response may still be
    /// stored, and that of an earlier one may not.
    func discard(_ place: CachePlace, by ticket: CacheRemovals.Ticket?) {
        if let found = place.found { return discard(found, by: ticket) }
        discard(place.primary, by: ticket)
        discard(place.primary.variantIndex, by: ticket)
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
    ///     with the state; returns `nil` to change nothing.
    /// - Returns: Whether the response may be stored.
    private func replace(
        _ key: CacheKey,
        by response: CacheEntry,
        since ticket: CacheRemovals.Ticket?,
        _ transform: (CacheEntry?, State) -> CacheEntry?
    ) -> Bool {
        var isAllowed = false
        let number = state.withLock { state -> Int? in
            if let ticket, !state.removals.allow(response, for: key, since: ticket) { return nil }
            isAllowed = true
            let known = memory?.entry(for: key) ?? state.pending.change(of: key) ?? nil
            guard let new = transform(known, state) else { return nil }
            memory?.store(new, for: key)
            state.requested.note(key, at: response.requested.microseconds)
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
