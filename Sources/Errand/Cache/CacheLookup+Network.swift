internal import Foundation

extension CacheLookup {
    /// Sends a conditional request to validate or complete a stored response, or an unconditional one if there are no
    /// conditions.
    func fetch(
        _ prepared: PreparedRequest,
        _ stored: Stored?,
        _ conditions: HTTPHeaders
    ) async throws -> AcceptedResponse {
        if let stored, !conditions.isEmpty {
            let now = cache.now
            do {
                let entry = stored.entry
                let validation = CacheValidation(entry: entry, conditions: conditions, requested: now(), now: now)
                return try await fetch(prepared, stored, validating: validation)
            } catch is CacheValidation.Mismatch {
                cache.discard(stored.place)
            }
        }
        return try await fetch(prepared, stored, validating: nil)
    }

    private func fetch(
        _ prepared: PreparedRequest,
        _ stored: Stored?,
        validating validation: CacheValidation?
    ) async throws -> AcceptedResponse {
        let own = cache.ticket
        var place = stored?.place ?? place
        var answer = try await surroundings.fetch(prepared, validation)
        let (response, note) = (answer.response, answer.response.cacheNote)
        // A response that is shared was requested before this send began.
        var ticket = note?.ticket ?? own
        if note?.validated != nil { answer.source = .revalidated }
        var entry = note?.validated
        if note?.isUnidentified == true {
            // The stored response may belong to another user, and so may this one.
            cache.discard(place)
            cache.observations.addUntrustedHooks(prepared.identityCheck?.changedBy ?? [])
            answer.metrics.cacheMiss = .unknownScope
            entry = nil
        } else {
            // Its own invalidation precedes it.
            if storesForGet { ticket.invalidatesItself = true }
            if entry == nil, allowsStoring(response) {
                let (scope, received) = (identification.scope, cache.now())
                let requested = storesForGet ? received : ticket.date
                let new = CacheEntry(response, to: prepared, scope: scope, requested: requested, received: received)
                entry = try await completed(new, &place)
            }
            if let entry, cache.needsIndex(entry, at: place) {
                try await cache.readIndex(&place, endedBy: prepared.stop)
            }
            // A newer response that must not be stored makes the older one obsolete; a part or an error does not.
            let isWhole = 200..<300 ~= response.statusCode && response.statusCode != 206 && response.failure == nil
            if entry == nil, isWhole, stored != nil || policy != .http { cache.discard(place) }
            if policy == .http, prepared.outgoing.method == .head { await freshenGet(by: response, ticket) }
        }
        answer.caching = CacheStoring(cache: cache, place: place, entry: entry, ticket: ticket)
        return answer
    }

    /// Whether a response may be stored under the identified key.
    private func allowsStoring(_ response: RawResponse) -> Bool {
        if storesForGet, !CacheControl.mayStoreForGet(response, url: prepared.outgoing.url) { return false }
        return policy.allowsStoring(response, to: fields)
    }

    /// Returns a new entry, with the stored parts of its content if it is a part itself.
    private func completed(_ entry: CacheEntry, _ place: inout CachePlace) async throws -> CacheEntry {
        guard entry.statusCode == 206 else { return entry }
        do {
            let older = try await cache.entry(at: &place, endedBy: prepared.stop, isOptional: true, where: matches)
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
        guard let entry = try? await cache.entry(at: &place, endedBy: prepared.stop, isOptional: true, where: matches),
            let key = place.found
        else { return }
        let merged = CacheControl.merging(entry, withHead: head, requested: ticket.date, received: cache.now())
        if let merged { cache.store(merged, for: key, since: ticket) } else { cache.discard(key) }
    }

    /// Revalidates a stored response in the background and stores the result; no accessory is notified.
    ///
    /// Without a veto, the result stays in memory until the next send calls the request's.
    func revalidate(_ stored: Stored, _ conditions: HTTPHeaders, veto: CacheVeto?) async {
        // A failure leaves the stored response as it is.
        let answer = try? await surroundings.behind(prepared) { try await fetch($0, stored, conditions) }
        guard let answer, let caching = answer.caching, var entry = caching.entry else { return }
        if let veto, !veto(answer.payload, answer.response) { return }
        entry.isVetted = veto != nil
        cache.store(entry, at: caching.place, since: caching.ticket)
    }
}
