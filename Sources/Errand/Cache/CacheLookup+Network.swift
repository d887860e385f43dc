internal import Foundation

extension CacheLookup {
    /// Sends a conditional request to validate or complete a stored response, or an unconditional one if there are no
    /// conditions.
    ///
    /// - Parameters:
    ///   - prepared: The prepared request of this send, or of one in the background.
    ///   - stored: The stored response, or `nil` if there is none.
    ///   - conditions: The header fields that make the request conditional.
    ///   - place: The place of the response, with what is known of it.
    ///   - miss: The reason why no stored response was used.
    /// - Returns: The response of the network, with what is to be stored.
    /// - Throws: ``NetworkError``, or `CancellationError`.
    func fetch(
        _ prepared: PreparedRequest,
        _ stored: CacheEntry?,
        _ conditions: HTTPHeaders,
        at place: CachePlace,
        after miss: CacheMiss
    ) async throws -> AcceptedResponse {
        if let stored, !conditions.isEmpty {
            do {
                let validation = CacheValidation(entry: stored, conditions: conditions, ticket: ticket, now: cache.now)
                return try await fetch(prepared, stored, validating: validation, at: place, after: miss)
            } catch let mismatch as CacheValidation.Mismatch {
                cache.discard(place, by: ticket)
                do {
                    var accepted = try await fetch(prepared, stored, validating: nil, at: place, after: miss)
                    // Its attempts are counted with those of the conditional request.
                    accepted.times.attempts.insert(contentsOf: mismatch.attempts, at: 0)
                    accepted.times.authentication += mismatch.authentication
                    return accepted
                } catch var error as NetworkError {
                    error.details.value.repetitionCount += mismatch.attempts.count
                    throw error
                }
            }
        }
        return try await fetch(prepared, stored, validating: nil, at: place, after: miss)
    }

    private func fetch(
        _ prepared: PreparedRequest,
        _ stored: CacheEntry?,
        validating validation: CacheValidation?,
        at place: CachePlace,
        after miss: CacheMiss
    ) async throws -> AcceptedResponse {
        var accepted = try await surroundings.fetch(prepared, validation)
        let (response, note) = (accepted.response, accepted.response.cacheNote)
        // A response that is shared was requested before this send began, and what was removed while this send waited must
        // not come back either. A new response to a request that waited for an unsafe one is newer than its changes.
        let ticket = note?.ticket?.noLater(than: ticket, includesURL: false) ?? ticket
        if note?.validated != nil { accepted.source = .revalidated }
        var entry: CacheEntry?
        if prepared.isOfOtherUser {
            // The stored response may belong to another user, and so may this one.
            cache.discard(place, by: ticket)
            accepted.times.cacheMiss = .unknownScope
        } else {
            if let validated = note?.validated {
                entry = policy.allowsKeeping(validated, note, of: prepared) ? validated : nil
            } else if allowsStoring(response, insteadOf: stored) {
                let (requested, received) = (ticket.date, cache.now())
                let new = CacheEntry(
                    response,
                    to: prepared,
                    as: identification,
                    requested: requested,
                    received: received
                )
                entry = new.statusCode == 206 ? try await completed(new, stored, at: place, miss) : new
            }
            // A stored response that was validated or completed may come from the disk.
            entry?.isMemoryOnly = prepared.storesInMemoryOnly
            // A newer response that must not be stored makes the older one obsolete; a part or an error does not.
            let isWhole = 200..<300 ~= response.statusCode && response.statusCode != 206 && response.failure == nil
            // An unsafe request has invalidated what it may have changed.
            if entry == nil, isWhole || note?.validated != nil, !storesForGet {
                cache.discardObsolete(at: place, by: ticket)
            }
            if policy == .http, prepared.outgoing.method == .head { await freshenGet(by: response, ticket, miss) }
        }
        accepted.caching = CacheStoring(cache: cache, place: place, entry: entry, ticket: ticket)
        return accepted
    }

    /// Whether a response may be stored under the identified key.
    private func allowsStoring(_ response: RawResponse, insteadOf stored: CacheEntry?) -> Bool {
        // An error states nothing of the content.
        let isContent = response.statusCode == 200 || response.statusCode == 203
        if let stored, isContent, fields.contains("Range"), !stored.mayBeReplaced(by: response) { return false }
        if storesForGet {
            // The body of a POST may determine whose response it is, and the body of a GET does not.
            guard identification.user.isNamed || prepared.outgoing.body.data?.isEmpty == true,
                CacheControl.mayStoreForGet(response, url: prepared.outgoing.url)
            else { return false }
        }
        return policy.allowsStoring(response, to: prepared)
    }

    /// Returns a part with the stored ones, or `nil` if it would replace what is worth more: a complete response, or one that
    /// cannot be read in time.
    private func completed(
        _ entry: CacheEntry,
        _ stored: CacheEntry?,
        at place: CachePlace,
        _ miss: CacheMiss
    ) async throws -> CacheEntry? {
        if let stored { return entry.completed(by: stored) }
        if miss == .absent || miss == .varyMismatch { return entry.completed(by: nil) }
        // The disk is waited for once.
        if miss == .tooSlow { return nil }
        var place = place
        do {
            return entry.completed(by: try await self.entry(at: &place))
        } catch let miss as CacheMiss {
            return miss == .tooSlow ? nil : entry.completed(by: nil)
        }
    }

    /// Freshens or removes the stored response to a GET (RFC 9111, section 4.3.5).
    private func freshenGet(by head: RawResponse, _ ticket: CacheRemovals.Ticket, _ miss: CacheMiss) async {
        // Without a key, or without an entry, there is nothing to freshen.
        guard head.statusCode == 200, head.redirects.isEmpty,
            var place = try? CacheIdentification(
                prepared,
                of: identification.user,
                appVersion: cache.appVersion,
                method: .get
            ).place
        else { return }
        let entry: CacheEntry
        do {
            // The disk is waited for once.
            if miss == .tooSlow { throw miss }
            entry = try await self.entry(at: &place)
        } catch let miss as CacheMiss where miss == .absent || miss == .varyMismatch {
            return
        } catch {
            // What could not be read may be obsolete now.
            cache.discard(place, by: ticket)
            return
        }
        guard let key = place.found else { return }
        let merged = CacheControl.merging(entry, withHead: head, requested: ticket.date, received: cache.now())
        if let merged, entry.isStored(for: head.storedURL), policy.allowsKeeping(merged, head.cacheNote, of: prepared),
            CacheControl.varyNames(merged.headers).sorted() == entry.vary.map(\.name)
        {
            cache.store(merged, for: key, since: ticket)
        } else {
            cache.discard(key, by: ticket)
        }
    }

    /// Revalidates a stored response in the background and stores the result, unless that is being done or has been done since
    /// it was looked up.
    ///
    /// Without a veto, the result stays in memory until the next send calls the request's.
    func startRevalidating(_ stored: CacheEntry, _ conditions: HTTPHeaders, at place: CachePlace, veto: CacheVeto?) {
        let key = place.found ?? place.primary
        cache.revalidations.start(key) {
            cache.isLater([key], than: stored.requested.microseconds)
        } work: {
            await surroundings.inBackground(prepared) { send in
                let began = surroundings.timeline.now()
                do {
                    var accepted = try await fetch(send, stored, conditions, at: place, after: .expired)
                    storeRevalidated(accepted, veto: veto)
                    accepted.times.total = surroundings.timeline.now() - began
                    return SendOutcome(accepted)
                } catch {
                    // The stored response is left as it is.
                    return SendOutcome((error as? GateRejection)?.error ?? error)
                }
            }
        } report: { [accessories = prepared.accessories] ended in
            guard !accessories.isEmpty else { return }
            await accessories.notify(.didRevalidate(ended.outcome), of: ended.context)
        }
    }

    private func storeRevalidated(_ accepted: AcceptedResponse, veto: CacheVeto?) {
        guard let caching = accepted.caching, var entry = caching.entry else { return }
        if let veto, !veto(accepted.payload, accepted.response) { return }
        entry.isVetted = veto != nil
        cache.store(entry, at: caching.place, since: caching.ticket)
    }
}
