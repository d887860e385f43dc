internal import Dispatch
internal import Foundation

// The responses to requests that differ in header fields only (RFC 9111, section 4.1).

extension ResponseCache {
    /// Returns the stored response that a request selects, whatever its age.
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses; receives what is known of it.
    ///   - stop: Ends the lookup with the send.
    ///   - limit: Until when the store is waited for, or `nil` if it is waited for however long it takes.
    /// - Returns: The stored response.
    /// - Throws: ``CacheMiss``, or `CancellationError`.
    func entry(
        at place: inout CachePlace,
        endedBy stop: StopSignal?,
        until limit: DispatchTime?
    ) async throws -> CacheEntry {
        if let pending = pendingVariant(at: &place) { return pending }
        let miss: CacheMiss
        do {
            let entry = try await entry(for: place.primary, endedBy: stop, until: limit)
            if place.read(plain: entry) { return entry }
            miss = .varyMismatch
        } catch let reason as CacheMiss where reason == .absent || reason == .damaged {
            place.read(plain: nil)
            miss = reason
        }
        let indexKey = place.primary.variantIndex
        do {
            place.read(index: try await entry(for: indexKey, endedBy: stop, until: limit))
        } catch let miss as CacheMiss where miss != .tooSlow {
            place.read(index: nil)
        }
        guard place.index != nil else { throw miss }
        guard let key = place.indexedKey else { throw miss == .absent ? .varyMismatch : miss }
        do {
            let entry = try await entry(for: key, endedBy: stop, until: limit)
            guard place.matches(entry) else { throw CacheMiss.varyMismatch }
            place.find(variant: key)
            didUse(key, at: indexKey)
            return entry
        } catch CacheMiss.absent {
            throw CacheMiss.varyMismatch
        }
    }

    /// The variant that a request selects and that is not stored yet, unless it was removed, or one that was requested later
    /// may be in its place.
    private func pendingVariant(at place: inout CachePlace) -> CacheEntry? {
        change { state in
            place.changes = state.changes[place.primary]
            guard let (_, entry, ticket) = state.variants.variant(at: place) else { return nil }
            let keys = isVariant(entry, at: place) ? [place.primary] : [place.primary, place.primary.variantIndex]
            return allows(entry, at: keys, since: ticket, in: state) ? entry : nil
        }
    }

    /// Makes a variant the most recently used in memory; on disk it is with the next one that is stored.
    private func didUse(_ key: CacheKey, at indexKey: CacheKey) {
        state.withLock { _ in
            guard let entry = memory?.entry(for: indexKey), var index = VariantIndex(entry), index.keys.last != key,
                index.keys.contains(key)
            else { return }
            _ = index.use(key)
            memory?.store(index.entry(like: entry), for: indexKey)
        }
    }

    // MARK: Storing

    /// Stores a response: in memory at once, on disk soon after.
    ///
    /// It replaces what the request selected before. If the disk has to be read to know what that is, lookups find the response
    /// meanwhile.
    func store(
        _ entry: CacheEntry,
        at place: CachePlace,
        since ticket: Ticket?,
        reportingTo write: CacheWrite? = nil
    ) {
        change { state in
            var place = place
            update(&place, supersedingUntil: entry.requested, in: &state)
            if isKnown(place, to: entry, in: state) {
                replace(place, by: entry, since: ticket, reportingTo: write, in: &state)
            } else {
                // What is removed meanwhile must not come back, whoever stores it.
                let ticket = ticket ?? state.removals.ticket(at: state.date)
                storeOnceRead(entry, at: place, since: ticket, reportingTo: write, in: &state)
            }
        }
    }

    /// Whether it is known what a response replaces.
    private func isKnown(_ place: CachePlace, to entry: CacheEntry, in state: State) -> Bool {
        if isVariant(entry, at: place) { return place.isIndexRead && place.isPlainRead }
        let (index, fields) = (place.primary.variantIndex, entry.vary.map(\.name))
        // A response for all requests replaces the index, and one with the same fields has done that before.
        return place.isIndexRead
            || (fields.isEmpty || fields == place.plainFields)
                && !isLater([index], than: entry.requested.microseconds, in: state)
    }

    /// Whether a response is stored under a key of its own: if its request has fields that the server nominates.
    private func isVariant(_ entry: CacheEntry, at place: CachePlace) -> Bool {
        guard entry.vary.contains(where: { place.isSelecting($0.name) }) else { return false }
        // Nothing of a response that must not be written is, and an index would be.
        return !entry.isMemoryOnly && !CacheControl.forbidsStoring(entry)
    }

    /// Adds to a place what memory and pending writes have, and drops the pending variants that a new response replaces.
    func update(_ place: inout CachePlace, supersedingUntil requested: Date, in state: inout State) {
        if place.changes != state.changes[place.primary] { place.forget() }
        supersede(at: place, until: requested, in: &state)
        if let plain = known(place.primary, in: state) { place.read(plain: plain) }
        if let index = known(place.primary.variantIndex, in: state) { place.read(index: index) }
    }

    /// Drops the pending variants that a request selects, and that were requested until a time.
    func supersede(at place: CachePlace, until requested: Date, in state: inout State) {
        let superseded = state.variants.remove(at: place, requestedUntil: requested, now: state.date)
        // Other requests may have found one without a variant, in place of what is stored for them, which is older.
        if let last = superseded.filter({ !isVariant($0, at: place) }).map(\.requested).max() {
            discard(place.primary, unlessLaterThan: last.microseconds, in: &state)
            discardVariants(of: place.primary, in: &state)
        }
    }

    /// The entry of a key in memory or pending writes, `.some(nil)` if there is none at all, or `nil` if only the disk knows.
    private func known(_ key: CacheKey, in state: State) -> CacheEntry?? {
        if let entry = memory?.entry(for: key) { return .some(entry) }
        return state.pending.change(of: key) ?? (disk == nil ? .some(nil) : nil)
    }

    /// Whether a response that is stored for one of some keys was requested later than another one.
    func isLater(_ keys: [CacheKey], than requested: Int64) -> Bool {
        change { isLater(keys, than: requested, in: $0) }
    }

    /// Whether an entry of one of some keys was requested later than another one, unless a clock was set back.
    func isLater(_ keys: [CacheKey], than requested: Int64, in state: State) -> Bool {
        keys.contains { key in
            let current = memory?.entry(for: key) ?? state.pending.change(of: key).flatMap(\.self)
            return [current?.requested.microseconds, state.requested.time(of: key)]
                .contains { $0.map { $0 > requested && $0 <= state.date.microseconds } ?? false }
        }
    }

    /// Replaces the response that a request selects, unless a later one is stored, or it was removed since.
    private func replace(
        _ place: CachePlace,
        by entry: CacheEntry,
        since ticket: Ticket?,
        reportingTo write: CacheWrite?,
        in state: inout State
    ) {
        let (isVariant, requested) = (isVariant(entry, at: place), entry.requested.microseconds)
        let isHiding = !isVariant && hidesVariants(entry, at: place)
        let old = [place.found, place.indexedKey].compactMap(\.self)
        // A response that was requested later stays; one under the cache key may be for all requests.
        let others = [place.primary] + (isHiding ? [place.primary.variantIndex] : []) + old
        if !allows(entry, at: others, since: ticket, in: state) {
            // In place of what was received and is not stored, nothing that was requested before it is found.
            for key in Set(others) { discard(key, unlessLaterThan: requested, in: &state) }
            state.requested.raise(place.primary, to: requested)
            write?.finish(.superseded)
        } else if isVariant {
            storeVariant(entry, at: place, reportingTo: write, in: &state)
        } else {
            store(entry, for: place.primary, reportingTo: write, in: &state)
            for key in isHiding ? [place.primary.variantIndex] : Set(old) where key != place.primary {
                discard(key, in: &state)
            }
        }
    }

    /// Whether a response under the cache key is found in place of variants whose fields it doesn't depend on.
    private func hidesVariants(_ entry: CacheEntry, at place: CachePlace) -> Bool {
        let fields = entry.vary.map(\.name)
        if let variants = place.variants { return !Set(variants.names).isSubset(of: fields) }
        return !place.isIndexRead && place.plainFields != fields && fields.isEmpty
    }

    /// Stores a response under the key of its variant, and removes the least recently used one if there are too many.
    private func storeVariant(
        _ entry: CacheEntry,
        at place: CachePlace,
        reportingTo write: CacheWrite?,
        in state: inout State
    ) {
        let indexKey = place.primary.variantIndex
        var index = place.variants ?? VariantIndex(names: [])
        // The response that it replaces has hidden the variants, so they are older.
        if let fields = place.plainFields, !Set(index.names).isSubset(of: fields) {
            raise(place.primary, toVariantsIn: &state)
            index = VariantIndex(names: [])
        }
        index.nominate(entry.vary.map(\.name))
        let key = index.key(at: place) ?? place.primary
        var obsolete = index.use(key)
        var new = index.entry(like: entry)
        // Of those that it names, the one that was requested last counts.
        if let old = place.index?.value.requested, old > new.requested, old <= state.date { new.requested = old }
        put(new, for: indexKey, in: &state)
        put(entry, for: key, reportingTo: write, in: &state)
        if let found = place.found, found != key { obsolete.append(found) }
        if !entry.isVetted, !keepsUnvetted(entry) { obsolete.append(key) }
        for key in obsolete { discard(key, in: &state) }
    }

    /// Reads on the queue of writes what a response replaces, and then stores it.
    private func storeOnceRead(
        _ entry: CacheEntry,
        at place: CachePlace,
        since ticket: Ticket,
        reportingTo write: CacheWrite?,
        in state: inout State
    ) {
        guard let number = state.variants.add(entry, at: place, since: ticket) else {
            // In place of the newer response, the older one is removed.
            discard(place, by: ticket, in: &state)
            write?.finish(.failed(POSIXError(.ENOBUFS)))
            return
        }
        // What others request earlier, and receive later, must not be stored beside it.
        if !isVariant(entry, at: place) { state.requested.raise(place.primary, to: entry.requested.microseconds) }
        // Under the lock, so that a wait for all writes follows it.
        writes.async { [self] in
            var place = place
            let primary = place.primary
            place.read(plain: storedEntry(for: primary))
            place.read(index: storedEntry(for: primary.variantIndex))
            // In memory, it shows whether it was requested later.
            if let key = place.indexedKey { _ = storedEntry(for: key) }
            change { state in
                guard state.variants.remove(number, at: primary) else {
                    write?.finish(.superseded)
                    return
                }
                // No write ends while this one runs, so what has changed meanwhile is pending.
                place.changes = state.changes[primary]
                update(&place, supersedingUntil: entry.requested, in: &state)
                replace(place, by: entry, since: ticket, reportingTo: write, in: &state)
            }
        }
    }
}
