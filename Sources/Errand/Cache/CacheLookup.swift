internal import Dispatch
internal import Foundation

/// The use of the cache by one send: it looks up, decides, and uses the stored response or sends the request.
struct CacheLookup: Sendable {
    let prepared: PreparedRequest
    let use: CacheUse
    let surroundings: CacheSurroundings
    let cache: ResponseCache
    let identification: CacheIdentification
    /// Whether the response, to a POST, may be stored for a later GET only (RFC 9110, section 9.3.3).
    let storesForGet: Bool
    /// A ticket from before anything was looked up.
    let ticket: CacheRemovals.Ticket

    /// Creates a lookup.
    ///
    /// - Throws: The reason why the request is not cached.
    init(_ prepared: PreparedRequest, _ use: CacheUse, in surroundings: CacheSurroundings) async throws {
        guard let cache = use.cache else { throw CacheMiss.noCache }
        storesForGet = use.storesForGet(prepared)
        (self.prepared, self.use, self.surroundings, self.cache) = (prepared, use, surroundings, cache)
        var user = RequestUser(prepared)
        if !user.fields.isEmpty {
            user.secret = try await cache.secret.value(until: Self.limit(of: prepared, in: surroundings, cache))
        }
        let method = storesForGet ? HTTPMethod.get : nil
        identification = try CacheIdentification(prepared, of: user, appVersion: cache.appVersion, method: method)
        ticket = cache.ticket
        cache.noteIgnoredParameters(of: prepared)
    }

    var policy: CachePolicy { use.policy }
    var fields: HTTPHeaders { identification.selecting }
    var place: CachePlace { identification.place }
    /// Until when a lookup that begins now waits for the disk.
    var limit: DispatchTime { Self.limit(of: prepared, in: surroundings, cache) }

    private static func limit(
        of prepared: PreparedRequest,
        in surroundings: CacheSurroundings,
        _ cache: ResponseCache
    ) -> DispatchTime {
        cache.limit(ofSendFor: prepared.deadline.map { $0.time - surroundings.timeline.now() })
    }

    /// Returns the stored response or the server's; nothing is looked up if a stored one has just proved unusable.
    func response(insteadOf skipped: CacheMiss?, veto: CacheVeto?) async throws -> AcceptedResponse {
        let began = surroundings.timeline.now()
        var found = try await find(insteadOf: skipped, veto)
        if var accepted = try used(&found, veto) {
            accepted.times.cacheLookup = surroundings.timeline.now() - began
            return accepted
        }
        let lookup = surroundings.timeline.now() - began
        var accepted = try await received(found)
        accepted.times.cacheLookup = lookup
        return accepted
    }

    // Each of the three is a function of its own, not inlined, so that a send that waits for its server keeps only what it
    // needs then.

    /// What was found, and what is done with it.
    private struct Found {
        var stored: CacheEntry?
        var place: CachePlace
        /// The age of a stored response that is used, and the conditions with which it is revalidated, or `nil` for none.
        var use: (age: Duration, revalidation: HTTPHeaders?)?
        /// Why the server is asked, and with which conditions.
        var miss = CacheMiss.notAccepted
        var conditions = HTTPHeaders()
        /// The age of a stored response that is used, whatever the policy decides, if the server does not respond.
        var fallback: Duration?
    }

    @inline(never)
    private func find(insteadOf skipped: CacheMiss?, _ veto: CacheVeto?) async throws -> Found {
        var found = Found(place: place)
        var decision = CacheDecision.miss(skipped ?? .bypassed)
        if storesForGet {
            decision = .miss(.methodNotCached)
        } else if skipped == nil, policy.lookupTime == .beforeRequest {
            (found.stored, decision) = try await lookUp(at: &found.place)
        }
        switch decision {
        case .use(let age): found.use = (age, nil)
        case .useAndRevalidate(let age, let conditions):
            if revalidates, veto == nil, found.stored.map(cache.keepsUnvetted) == false {
                // A response that is received in the background could not be kept.
                (found.miss, found.conditions, found.fallback) = (.expired, conditions, age)
            } else {
                found.use = (age, conditions)
            }
        case .miss(let miss, let conditions): (found.miss, found.conditions) = (miss, conditions)
        }
        return found
    }

    /// Returns the stored response, or `nil` if there is none to use.
    @inline(never)
    private func used(_ found: inout Found, _ veto: CacheVeto?) throws -> AcceptedResponse? {
        guard let (age, revalidation) = found.use else { return nil }
        let place = found.place
        guard let stored = found.stored, var accepted = try hit(stored, at: place, age: age, .cache(age: age)) else {
            found.stored = nil
            return nil
        }
        if let conditions = revalidation {
            if revalidates { startRevalidating(stored, conditions, at: place, veto: veto) }
            if case .first = use.step { accepted.caching?.isFollowed = true }
        }
        return accepted
    }

    /// Whether a stale response may be revalidated in the background.
    private var revalidates: Bool { use.revalidatesInBackground && !use.allowsOnlyStored(for: fields) }

    /// Returns the server's response, or the stored one in its place.
    @inline(never)
    private func received(_ found: Found) async throws -> AcceptedResponse {
        let (stored, miss) = (found.stored, found.miss)
        if use.allowsOnlyStored(for: fields) { throw prepared.notCached(miss) }
        do {
            var accepted = try await fetch(prepared, stored, found.conditions, at: found.place, after: miss)
            if let error = error(in: accepted.response, insteadOf: stored),
                let stale = try await staleResponse(insteadOf: error, stored, at: found.place, aged: nil)
            {
                accepted = stale
            }
            // The reason why nothing is stored is more useful than the reason why nothing was.
            accepted.times.cacheMiss = accepted.times.cacheMiss ?? miss
            return accepted
        } catch {
            let (place, age) = (found.place, found.fallback)
            guard var stale = try await staleResponse(insteadOf: error, stored, at: place, aged: age) else {
                throw error
            }
            stale.times.cacheMiss = miss
            return stale
        }
    }

    func lookUp(at place: inout CachePlace) async throws -> (stored: CacheEntry?, decision: CacheDecision) {
        do {
            let stored = try await entry(at: &place)
            if case .incomplete(var continuation) = RangeSelection(of: stored, by: fields) {
                // The complete content is received by this send.
                if let parts = stored.parts, parts.completeLength > prepared.maximumBodySize {
                    continuation = [:]
                }
                return (stored, .miss(.incomplete, conditions: continuation))
            }
            return (stored, use.decision(on: stored, for: fields, at: cache.now()))
        } catch let miss as CacheMiss {
            return (nil, .miss(miss))
        }
    }

    /// Returns the stored response at a place, which receives what is known of it.
    ///
    /// - Throws: ``CacheMiss``, or `CancellationError`.
    func entry(at place: inout CachePlace) async throws -> CacheEntry {
        try await cache.entry(at: &place, endedBy: prepared.stop, until: limit)
    }

    /// Returns a stored response as the response of the send, or `nil` if the request does not accept it; others may.
    ///
    /// - Throws: The error of a range that the stored response does not have.
    @inline(never)
    private func hit(
        _ entry: CacheEntry,
        at place: CachePlace,
        age: Duration,
        _ source: ResponseSource
    ) throws -> AcceptedResponse? {
        var response = entry.response(for: prepared.outgoing.url, by: fields)
        response?.notes.value.declared = prepared.built.outgoing.notes.declared
        if policy == .http { response?.headers["Age"] = String(age.components.seconds) }
        if let response, response.statusCode == 416, entry.statusCode != 416 {
            var accepted = try surroundings.judge(response, prepared)
            accepted.source = source
            return accepted
        }
        // Whatever the reason, a response that is no longer accepted is fetched again.
        guard let response, var accepted = try? surroundings.judge(response, prepared) else { return nil }
        accepted.source = source
        accepted.caching = CacheStoring(
            cache: cache,
            place: place,
            entry: entry.isVetted ? nil : entry,
            ticket: ticket,
            isHit: true,
            isFollowed: use.isFollowed
        )
        return accepted
    }

    /// Returns the error in an accepted response that a stale one is used in place of (RFC 5861, section 4).
    @inline(never)
    func error(in response: RawResponse, insteadOf stored: CacheEntry?) -> NetworkError? {
        guard response.failure == nil, let stored, RangeSelection(of: stored, by: fields).isAvailable,
            case .use = use.decisionAfterError(response, on: stored, for: fields, at: cache.now())
        else { return nil }
        return NetworkError(.status(response.statusCode), response: response)
            .with(exchangeOf: response, method: prepared.outgoing.method).with(attempts: 1)
    }

    /// Returns the stored response that is used in place of a failure; with an age, whatever the policy decides.
    ///
    /// - Throws: `CancellationError` if the task is cancelled in the meantime.
    @inline(never)
    private func staleResponse(
        insteadOf error: any Error,
        _ stored: CacheEntry?,
        at place: CachePlace,
        aged fallback: Duration?
    ) async throws -> AcceptedResponse? {
        guard error is GateRejection || error.isFailureOfNetwork else { return nil }
        let error = (error as? GateRejection)?.error ?? error
        // The stored response may belong to another user than the failed request.
        prepared.checkUser()
        if prepared.isOfOtherUser { return nil }
        if let stored, let fallback {
            return try hit(stored, at: place, age: fallback, .stale(age: fallback, error: error))
        }
        var (stored, place) = (stored, place)
        if policy.lookupTime == .afterFailure {
            do {
                stored = try await entry(at: &place)
            } catch let error as CancellationError where prepared.stop.reason != .deadline {
                throw error
            } catch {
                // If nothing is found, the failure itself is thrown.
                return nil
            }
        }
        guard let stored, RangeSelection(of: stored, by: fields).isAvailable,
            case .use(let age) = use.decisionAfterFailure(on: stored, for: fields, at: cache.now())
        else { return nil }
        return try hit(stored, at: place, age: age, .stale(age: age, error: error))
    }
}
