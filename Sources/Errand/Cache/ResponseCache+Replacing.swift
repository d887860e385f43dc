internal import Foundation

extension ResponseCache {
    /// Whether a response needs an index: if its request has fields that the server nominates.
    func needsIndex(_ entry: CacheEntry, at place: CachePlace) -> Bool {
        guard entry.vary.contains(where: { place.isSelecting($0.name) }) else { return false }
        // Nothing of another response is written, and an index is.
        return !entry.isMemoryOnly && !CacheControl.forbidsStoring(entry)
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
        let requested = entry.requested.microseconds
        if storings.supersede(at: place, upTo: requested, now: now().microseconds), ticket != nil {
            write?.finish(.superseded)
            return
        }
        let needsIndex = needsIndex(entry, at: place)
        var place = place
        forgetOutdated(&place)
        lookUpInMemory(&place)
        // Without an index of its own, it replaces what is stored under the cache key; only an index may have another one.
        let isKnown =
            place.isIndexRead
            ? place.isLookedUp || !needsIndex
            : !needsIndex && place.hasFound(sameFieldsAs: entry)
        if isKnown {
            let outcome = replace(place, by: entry, since: ticket, reportingTo: write)
            if outcome == .refused { write?.finish(.superseded) }
            if outcome != .outdated { return }
        }
        // Variants that were requested later could be hidden by it.
        let isUndecided =
            !entry.vary.isEmpty && !place.isIndexRead && isLater(place.primary.variantIndex, than: requested)
        if !needsIndex, !isUndecided {
            let outcome = replace(place, by: entry, since: ticket, reportingTo: write, isForced: true)
            if outcome == .refused { write?.finish(.superseded) }
            let since = ticket ?? self.ticket
            var entry = entry
            entry.body = Data()
            let isStarted = storings.start(nil, cost: 0) { [self, place, entry] in
                await discardReplaced(at: place, by: entry, since: since, isRefused: outcome == .refused)
                return false
            }
            if !isStarted { discard(place.primary.variantIndex, by: ticket) }
            return
        }
        // What is removed meanwhile must not come back, whoever stores it.
        let pending = CacheStorings.Pending(key: place.primary, entry: entry, ticket: ticket ?? self.ticket)
        let response = needsIndex ? pending : nil
        let isStarted = storings.start(response, cost: entry.cost, reportingTo: write) { [self, place] in
            var place = place
            let request = place.request
            for number in 1...Self.maximumReadCount {
                _ = try? await storedEntry(at: &place, endedBy: nil, until: nil) {
                    CacheControl.matches($0, request: request)
                }
                _ = try? await readIndex(&place, endedBy: nil, until: nil)
                if Task.isCancelled { return true }
                let isLast = number == Self.maximumReadCount
                let outcome = replace(place, by: entry, since: pending.ticket, reportingTo: write, isForced: isLast)
                if outcome != .outdated { return outcome == .refused }
            }
            return false
        }
        if !isStarted {
            if !place.isPrimaryRead { discard(place.primary, by: ticket) }
            let outcome = replace(place, by: entry, since: ticket, reportingTo: write, isForced: true)
            if outcome == .refused { write?.finish(.superseded) }
        }
    }

    /// How often an index is read again because others have changed it meanwhile.
    private static let maximumReadCount = 16

    /// Removes what a response has replaced that was stored before it was known, or was refused for a later one.
    private func discardReplaced(
        at place: CachePlace,
        by entry: CacheEntry,
        since ticket: CacheRemovals.Ticket,
        isRefused: Bool
    ) async {
        var place = place
        let request = place.request
        // What cannot be read is not there.
        if isRefused {
            _ = try? await storedEntry(at: &place, endedBy: nil, until: nil) {
                CacheControl.matches($0, request: request)
            }
        }
        if !place.isIndexRead { _ = try? await readIndex(&place, endedBy: nil, until: nil) }
        let index = place.index != nil && hidesVariants(entry, at: place) ? place.primary.variantIndex : nil
        let found = isRefused ? place.found : nil
        for key in [index, place.indexedKey, found].compactMap(\.self) {
            discard(key, by: ticket, unlessLaterThan: entry.requested.microseconds)
        }
    }

    /// Whether a response that is stored without an index may be found in place of variants whose fields it doesn't depend
    /// on.
    private func hidesVariants(_ entry: CacheEntry, at place: CachePlace) -> Bool {
        guard let names = place.index.flatMap({ VariantIndex($0.entry)?.names }) else {
            return !place.isIndexRead && !place.hasFound(sameFieldsAs: entry)
        }
        return !names.allSatisfy { name in entry.vary.contains { $0.name == name } }
    }

    private enum Replacement {
        case stored
        /// The response was not stored, because a later one is, or because it was removed.
        case refused
        /// Nothing was done, because others have been stored since the place was read.
        case outdated
    }

    /// Replaces the response that a request selects.
    ///
    /// A write is finished by the caller if the response is refused, and otherwise once it is stored.
    private func replace(
        _ place: CachePlace,
        by entry: CacheEntry,
        since ticket: CacheRemovals.Ticket?,
        reportingTo write: CacheWrite?,
        isForced: Bool = false
    ) -> Replacement {
        var key = place.primary
        let needsIndex = needsIndex(entry, at: place)
        let isHiding = !needsIndex && hidesVariants(entry, at: place)
        let requested = entry.requested.microseconds
        let selected = [place.found, place.indexedKey].compactMap(\.self)
        let isObsolete =
            (isHiding ? selected + [key.variantIndex] : selected).contains { isLater($0, than: requested) }
            || needsIndex && isLaterForAll(key, than: requested)
        // A response that was requested later stays.
        if ticket != nil, isObsolete {
            // If it is another variant, this request must not find an older response than its own.
            for key in selected { discard(key, by: ticket, unlessLaterThan: requested) }
            return .refused
        }
        if needsIndex {
            var (excess, isOutdated) = ([CacheKey](), false)
            let isStored = replace(key.variantIndex, by: entry, since: ticket) { known, state in
                let marks = (state.requested.mark(of: place.primary), state.requested.mark(of: key.variantIndex))
                isOutdated =
                    !isForced && (marks.0 != place.primaryMark || known == nil && marks.1 != place.indexMark)
                guard !isOutdated else { return nil }
                // What was read before is current unless it was removed since.
                let read = place.index.flatMap { read in
                    marks.1 == place.indexMark
                        && state.removals.allow(read.entry, for: key.variantIndex, since: read.ticket)
                        ? read.entry : nil
                }
                let names = entry.vary.map(\.name)
                let current = (known ?? read).flatMap { entry in
                    VariantIndex(entry).flatMap { place.hasFound(hiding: $0.names, before: entry.requested) ? nil : $0 }
                }
                var index = current ?? VariantIndex(names: names)
                index.nominate(names)
                if let own = index.key(at: place) {
                    key = own
                    excess = index.use(own)
                }
                return index.entry(like: entry)
            }
            if isOutdated { return .outdated }
            guard isStored else { return .refused }
            for key in excess { discard(key) }
        } else if isHiding, place.index != nil {
            // The server no longer distinguishes variants, or not by the same fields.
            discard(key.variantIndex, by: ticket, unlessLaterThan: requested)
        } else if let old = place.indexedKey, old != place.found {
            discard(old, by: ticket, unlessLaterThan: requested)
        }
        if let found = place.found, found != key {
            if found == place.primary { noteForAll(found) }
            discard(found, by: ticket, unlessLaterThan: requested)
        }
        store(entry, for: key, since: ticket, hiding: isHiding ? key.variantIndex : nil, reportingTo: write)
        // It may have become the least recently used of too many since.
        if key != place.primary, !isListed(key, in: place.primary.variantIndex) { discard(key) }
        return .stored
    }

    /// Whether the response that is stored for a key was requested later than another one.
    func isLater(_ key: CacheKey, than requested: Int64) -> Bool {
        let date = now().microseconds
        return state.withLock { isLater(key, than: requested, in: $0, at: date) }
    }

    /// Whether the entry of a key was requested later than another one, unless a clock was set back.
    func isLater(_ key: CacheKey, than requested: Int64, in state: State, at date: Int64) -> Bool {
        let current = memory?.entry(for: key) ?? state.pending.change(of: key).flatMap(\.self)
        let latest = current?.requested.microseconds ?? state.requested.time(of: key)
        return latest.map { $0 > requested && $0 <= date } ?? false
    }

    /// Whether a response that doesn't depend on header fields was requested later than a variant of the key, also if it was
    /// not stored.
    private func isLaterForAll(_ key: CacheKey, than requested: Int64) -> Bool {
        let date = now().microseconds
        let latest = state.withLock { $0.requested.timeForAll(of: key) }
        return latest.map { $0 > requested && $0 <= date } ?? false
    }

    /// Notes that a response that is about to be replaced by a variant was for requests of other variants too.
    private func noteForAll(_ key: CacheKey) {
        state.withLock { state in
            if let time = state.requested.time(of: key) { state.requested.note(key, at: time, isForAll: true) }
        }
    }

    /// A number that changes when this process stores a response for a key.
    func mark(of key: CacheKey) -> UInt32 { state.withLock { $0.requested.mark(of: key) } }

    private func isListed(_ key: CacheKey, in indexKey: CacheKey) -> Bool {
        let entry = state.withLock { memory?.entry(for: indexKey) ?? $0.pending.change(of: indexKey) ?? nil }
        return entry.flatMap { VariantIndex($0) }?.keys.contains(key) ?? true
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
        let date = now()
        state.withLock { state in
            if let ticket, !state.removals.allow(response, for: key, since: ticket) { return }
            isAllowed = true
            let known = memory?.entry(for: key) ?? state.pending.change(of: key) ?? nil
            guard var new = transform(known, state) else { return }
            // Of those that it names, the one that was requested last counts.
            let time = state.requested.time(of: key) ?? 0
            let latest = max(time <= date.microseconds ? time : 0, response.requested.microseconds)
            if let known, known.requested > new.requested, known.requested <= date { new.requested = known.requested }
            memory?.store(new, for: key)
            state.requested.note(key, at: latest)
            state.changes &+= 1
            if disk != nil { enqueue(new, for: key, in: &state) }
        }
        return isAllowed
    }
}
