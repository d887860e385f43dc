internal import Foundation

extension CacheLookup {
    /// Sends a conditional request to validate or complete a stored response, or an unconditional one if there are no
    /// conditions.
    ///
    /// - Parameters:
    ///   - prepared: The prepared request of this send, or of one in the background.
    ///   - stored: The stored response, or `nil` if there is none.
    ///   - conditions: The header fields that make the request conditional.
    ///   - miss: The reason why no stored response was used.
    /// - Returns: The response of the network, with what is to be stored.
    /// - Throws: ``NetworkError``, or `CancellationError`.
    func fetch(
        _ prepared: PreparedRequest,
        _ stored: Stored?,
        _ conditions: HTTPHeaders,
        after miss: CacheMiss
    ) async throws -> AcceptedResponse {
        if let stored, !conditions.isEmpty {
            do {
                let entry = stored.entry
                let validation = CacheValidation(entry: entry, conditions: conditions, ticket: ticket, now: cache.now)
                return try await fetch(prepared, stored, validating: validation, after: miss)
            } catch is CacheValidation.Mismatch {
                cache.discard(stored.place)
            }
        }
        return try await fetch(prepared, stored, validating: nil, after: miss)
    }

    private func fetch(
        _ prepared: PreparedRequest,
        _ stored: Stored?,
        validating validation: CacheValidation?,
        after miss: CacheMiss
    ) async throws -> AcceptedResponse {
        var place = stored?.place ?? place
        var answer = try await surroundings.fetch(prepared, validation)
        let (response, note) = (answer.response, answer.response.cacheNote)
        // A response that is shared was requested before this send began, and what was removed while this send waited must
        // not come back either.
        var ticket = note?.ticket?.noLater(than: ticket) ?? ticket
        if note?.validated != nil { answer.source = .revalidated }
        var entry: CacheEntry?
        if note?.isUnidentified == true {
            // The stored response may belong to another user, and so may this one.
            cache.discard(place)
            cache.observations.addUntrustedHooks(prepared.identityCheck?.changedBy ?? [])
            answer.metrics.cacheMiss = .unknownScope
        } else {
            // Its own invalidation precedes it.
            if storesForGet { ticket.invalidatesItself = true }
            if let validated = note?.validated {
                entry = policy.allowsKeeping(validated, note, of: prepared) ? validated : nil
            } else if allowsStoring(response) {
                let (scope, received) = (identification.scope, cache.now())
                let new = CacheEntry(response, to: prepared, scope: scope, requested: ticket.date, received: received)
                entry = try await completed(new, &place)
            }
            // A stored response that was validated or completed may come from the disk.
            entry?.isMemoryOnly = prepared.storesInMemoryOnly
            if let entry, cache.needsIndex(entry, at: place) {
                try await cache.findPrimary(&place, endedBy: prepared.stop, patience, where: matches)
                try await cache.readIndex(&place, endedBy: prepared.stop, patience)
            }
            // A newer response that must not be stored makes the older one obsolete; a part or an error does not.
            let isWhole = 200..<300 ~= response.statusCode && response.statusCode != 206 && response.failure == nil
            let isNothingStored = stored == nil && (miss == .absent || miss == .varies)
            if entry == nil, isWhole || note?.validated != nil, !isNothingStored { cache.discard(place) }
            if policy == .http, prepared.outgoing.method == .head { await freshenGet(by: response, ticket) }
        }
        answer.caching = CacheStoring(cache: cache, place: place, entry: entry, ticket: ticket)
        return answer
    }

    /// Whether a response may be stored under the identified key.
    private func allowsStoring(_ response: RawResponse) -> Bool {
        if storesForGet {
            // The body of a POST may say whose response it is, and that of a GET has none.
            guard identification.isOfKnownUser || prepared.outgoing.body.data?.isEmpty == true,
                CacheControl.mayStoreForGet(response, url: prepared.outgoing.url)
            else { return false }
        }
        return policy.allowsStoring(response, to: prepared)
    }

    /// Returns a new entry, with the stored parts of its content if it is a part itself.
    private func completed(_ entry: CacheEntry, _ place: inout CachePlace) async throws -> CacheEntry {
        guard entry.statusCode == 206 else { return entry }
        do {
            let older = try await cache.entry(at: &place, endedBy: prepared.stop, patience, where: matches)
            return entry.completed(by: older)
        } catch is CacheMiss {
            return entry.completed(by: nil)
        }
    }

    /// Freshens or removes the stored response to a GET (RFC 9111, section 4.3.5).
    private func freshenGet(by head: RawResponse, _ ticket: CacheRemovals.Ticket) async {
        // Without a key, or without an entry, there is nothing to freshen.
        guard head.statusCode == 200, head.redirects.isEmpty,
            let identification = try? CacheIdentification(prepared, appVersion: cache.appVersion, method: .get)
        else { return }
        var place = identification.place(of: fields)
        let entry: CacheEntry
        do {
            entry = try await cache.entry(at: &place, endedBy: prepared.stop, patience, where: matches)
        } catch let miss as CacheMiss where miss == .absent || miss == .varies {
            return
        } catch {
            // What could not be read may be obsolete now.
            cache.discard(place)
            return
        }
        guard let key = place.found else { return }
        let merged = CacheControl.merging(entry, withHead: head, requested: ticket.date, received: cache.now())
        if let merged, entry.isStored(for: head.url), policy.allowsKeeping(merged, head.cacheNote, of: prepared),
            CacheControl.varyNames(merged.headers).sorted() == entry.vary.map(\.name)
        {
            cache.store(merged, for: key, since: ticket)
        } else {
            cache.discard(key)
        }
    }

    /// Revalidates a stored response in the background and stores the result; no accessory is notified.
    ///
    /// Without a veto, the result stays in memory until the next send calls the request's.
    func revalidate(_ stored: Stored, _ conditions: HTTPHeaders, veto: CacheVeto?) async {
        // A failure leaves the stored response as it is.
        let answer = try? await surroundings.behind(prepared) {
            try await fetch($0, stored, conditions, after: .expired)
        }
        guard let answer, let caching = answer.caching, var entry = caching.entry else { return }
        if let veto, !veto(answer.payload, answer.response) { return }
        entry.isVetted = veto != nil
        cache.store(entry, at: caching.place, since: caching.ticket)
    }
}
