internal import Foundation

/// The stages behind the cache.
struct CacheSurroundings: Sendable {
    /// Sends the request, or has the server validate a stored response.
    let fetch: @Sendable (PreparedRequest, CacheValidation?) async throws -> AcceptedResponse
    /// Runs stages 7 and 8 on a stored response, as if it had just been received.
    let judge: @Sendable (RawResponse, PreparedRequest) throws -> AcceptedResponse
    /// Runs work in the background, as a send of its own that can be ended like any other.
    let behind:
        @Sendable (PreparedRequest, @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse) async throws
            -> AcceptedResponse
    let timeline: Timeline
}

/// The use of the cache by one send: it looks up, decides, and uses the stored response or sends the request.
struct CacheLookup: Sendable {
    private let prepared: PreparedRequest
    private let use: CacheUse
    private let surroundings: CacheSurroundings
    private let cache: ResponseCache
    private let identification: CacheIdentification

    /// Creates a lookup.
    ///
    /// - Throws: The reason why the request is not cached.
    init(_ prepared: PreparedRequest, _ use: CacheUse, in surroundings: CacheSurroundings) throws(CacheMiss) {
        guard let cache = use.cache else { throw .noCache }
        identification = try CacheIdentification(prepared, appVersion: cache.appVersion)
        (self.prepared, self.use, self.surroundings, self.cache) = (prepared, use, surroundings, cache)
        cache.observations.addIgnoredParameters(prepared.cacheIdentity.ignoredParameters)
        if prepared.hasInterceptor(of: cache.observations.untrustedHooks) { throw .unknownScope }
    }

    var key: CacheKey { identification.key }
    private var policy: CachePolicy { use.policy }
    private var fields: HTTPHeaders { prepared.outgoing.headers }

    /// Returns the stored response or the server's; nothing is looked up if a stored one has just proved unusable.
    func answer(insteadOf skipped: CacheMiss?, veto: CacheVeto?) async throws -> AcceptedResponse {
        let (began, ticket) = (surroundings.timeline.now(), cache.ticket)
        let mark = use.revalidatesInBackground ? cache.revalidations.mark : nil
        var (stored, decision) = (CacheEntry?.none, CacheDecision.miss(skipped ?? .bypassed))
        if skipped == nil, policy.lookupTime == .beforeRequest { (stored, decision) = try await lookUp() }
        let miss: CacheMiss
        var conditions = HTTPHeaders()
        var fallback: Duration?
        if case .useAndRevalidate(let age, let own) = decision, mark != nil, veto == nil,
            stored.map(cache.keepsUnvetted) == false
        {
            // A response that is received in the background could not be kept.
            (decision, fallback) = (.miss(.expired, conditions: own), age)
        }
        switch decision {
        case .use(let age), .useAndRevalidate(let age, _):
            if let stored, var answer = hit(stored, age: age, .cache(age: age), ticket) {
                if case .useAndRevalidate(_, let conditions) = decision {
                    if let mark {
                        cache.revalidations.start(key, since: mark) { await revalidate(stored, conditions, veto: veto) }
                    }
                    if case .first = use.step { answer.caching?.isFollowed = true }
                }
                answer.metrics.cacheLookup = surroundings.timeline.now() - began
                return answer
            }
            (stored, miss) = (nil, .refused)
        case .miss(let reason, let asked): (miss, conditions) = (reason, asked)
        }
        let lookup = surroundings.timeline.now() - began
        if policy == .cacheOnly || policy == .http && CacheDirectives(fields).onlyIfCached {
            throw prepared.notCached(miss)
        }
        var answer: AcceptedResponse
        do {
            answer = try await fetch(prepared, stored, conditions)
            // The reason why nothing is stored is more useful than the reason why nothing was.
            answer.metrics.cacheMiss = answer.metrics.cacheMiss ?? miss
        } catch {
            guard let stale = try await staleResponse(insteadOf: error, stored, aged: fallback, ticket) else {
                throw error
            }
            answer = stale
            answer.metrics.cacheMiss = miss
        }
        answer.metrics.cacheLookup = lookup
        return answer
    }

    func forecast() async throws -> CacheForecast {
        guard policy.lookupTime == .beforeRequest else { return .miss(.bypassed) }
        switch try await lookUp().decision {
        case .use(let age), .useAndRevalidate(let age, _): return .hit(age: age)
        // Its adapters have run for the plan.
        case .miss(let reason, _): return .miss(prepared.identityCheck?.isChanged == true ? .unknownScope : reason)
        }
    }

    private func lookUp() async throws -> (stored: CacheEntry?, decision: CacheDecision) {
        do {
            let entry = try await find()
            return (entry, use.decision(on: entry, for: fields, at: cache.now()))
        } catch let miss as CacheMiss {
            return (nil, .miss(miss))
        }
    }

    /// Returns the stored response.
    ///
    /// - Throws: ``CacheMiss``, or `CancellationError`.
    private func find() async throws -> CacheEntry {
        let isOptional = policy != .cacheOnly && !(policy == .http && CacheDirectives(fields).onlyIfCached)
        let entry = try await cache.entry(for: key, endedBy: prepared.stop, isOptional: isOptional)
        guard try await matches(entry) else { throw CacheMiss.varies }
        return entry
    }

    /// Whether the header fields that a stored response depends on are those that would be sent.
    private func matches(_ entry: CacheEntry) async throws -> Bool {
        let dependsOnCredential = entry.vary.contains { prepared.secrets.isCredential(header: $0.name) }
        guard prepared.hasUndeclaredAdapter || dependsOnCredential && prepared.mayChangeOnItsWay else {
            return CacheControl.matches(entry, request: fields)
        }
        let fields: HTTPHeaders
        do {
            fields = try await prepared.previewed().headers
        } catch let error as CancellationError {
            throw error
        } catch {
            // What would be sent is not known; the send itself throws the error.
            throw CacheMiss.unknownScope
        }
        if prepared.identityCheck?.isChanged == true { throw CacheMiss.unknownScope }
        return CacheControl.matches(entry, request: fields)
    }

    /// Returns a stored response as that of the send, or `nil` if the request does not accept it; others may.
    private func hit(
        _ entry: CacheEntry,
        age: Duration,
        _ source: Source,
        _ ticket: CacheRemovals.Ticket
    ) -> AcceptedResponse? {
        var response = entry.response(for: prepared.outgoing.url)
        if policy == .http { response?.headers["Age"] = String(age.components.seconds) }
        // Whatever the reason, a response that is no longer accepted is fetched again.
        guard let response, var answer = try? surroundings.judge(response, prepared) else { return nil }
        answer.source = source
        answer.caching = CacheStoring(
            cache: cache,
            key: key,
            entry: entry.isVetted ? nil : entry,
            ticket: ticket,
            isHit: true,
            isFollowed: use.isFollowed
        )
        return answer
    }

    /// Returns the stored response that is used in place of a failure; with an age, whatever the policy decides.
    ///
    /// - Throws: `CancellationError` if the task is cancelled in the meantime.
    private func staleResponse(
        insteadOf error: any Error,
        _ stored: CacheEntry?,
        aged fallback: Duration?,
        _ ticket: CacheRemovals.Ticket
    ) async throws -> AcceptedResponse? {
        guard (error as? NetworkError)?.isFailureOfNetwork ?? (error is GateRefusal) else { return nil }
        let error = (error as? GateRefusal)?.error ?? error
        // The stored response may belong to another user than the failed request.
        if prepared.identityCheck?.isChanged == true { return nil }
        if let stored, let fallback { return hit(stored, age: fallback, .stale(age: fallback, error: error), ticket) }
        var stored = stored
        if policy.lookupTime == .afterFailure {
            do {
                stored = try await find()
            } catch let error as CancellationError where prepared.stop.reason != .deadline {
                throw error
            } catch {
                // If nothing is found, the failure itself is thrown.
                return nil
            }
        }
        guard let stored,
            case .use(let age) = policy.decisionAfterFailure(on: stored, for: fields, at: cache.now())
        else { return nil }
        return hit(stored, age: age, .stale(age: age, error: error), ticket)
    }

    // MARK: The network

    /// Sends a conditional request to validate a stored response, or an unconditional one if there are no conditions.
    private func fetch(
        _ prepared: PreparedRequest,
        _ stored: CacheEntry?,
        _ conditions: HTTPHeaders
    ) async throws -> AcceptedResponse {
        if let stored, !conditions.isEmpty {
            let now = cache.now
            do {
                let validation = CacheValidation(entry: stored, conditions: conditions, requested: now(), now: now)
                return try await fetch(prepared, stored, validating: validation)
            } catch is CacheValidation.Mismatch {
                cache.discard(key)
            }
        }
        return try await fetch(prepared, stored, validating: nil)
    }

    private func fetch(
        _ prepared: PreparedRequest,
        _ stored: CacheEntry?,
        validating validation: CacheValidation?
    ) async throws -> AcceptedResponse {
        let own = cache.ticket
        var answer = try await surroundings.fetch(prepared, validation)
        let (response, note) = (answer.response, answer.response.cacheNote)
        // A response that is shared was requested before this send began.
        let ticket = note?.ticket ?? own
        if note?.validated != nil { answer.source = .revalidated }
        var entry = note?.validated
        if note?.isUnidentified == true {
            // The stored response may belong to another user, and so may this one.
            cache.discard(key)
            cache.observations.addUntrustedHooks(prepared.identityCheck?.changedBy ?? [])
            answer.metrics.cacheMiss = .unknownScope
            entry = nil
        } else {
            if entry == nil, policy.allowsStoring(response, to: fields) {
                let scope = identification.scope
                let received = cache.now()
                entry = CacheEntry(response, to: prepared, scope: scope, requested: ticket.date, received: received)
            }
            // A newer response that must not be stored makes the older one obsolete; a part or an error does not.
            let isWhole = 200..<300 ~= response.statusCode && response.statusCode != 206 && response.failure == nil
            if entry == nil, isWhole, stored != nil || policy != .http { cache.discard(key) }
            if policy == .http, prepared.outgoing.method == .head { await freshenGet(by: response, ticket) }
        }
        answer.caching = CacheStoring(cache: cache, key: key, entry: entry, ticket: ticket)
        return answer
    }

    /// Freshens or removes the stored response to a GET (RFC 9111, section 4.3.5).
    private func freshenGet(by head: RawResponse, _ ticket: CacheRemovals.Ticket) async {
        // Without a key, or without an entry, there is nothing to freshen.
        guard head.statusCode == 200, head.redirects.isEmpty,
            let key = try? CacheIdentification(prepared, appVersion: cache.appVersion, method: .get).key,
            let entry = try? await cache.entry(for: key, endedBy: prepared.stop, isOptional: true),
            (try? await matches(entry)) == true
        else { return }
        let merged = CacheControl.merging(entry, withHead: head, requested: ticket.date, received: cache.now())
        if let merged { cache.store(merged, for: key, since: ticket) } else { cache.discard(key) }
    }

    /// Revalidates a stored response in the background and stores the result; no accessory is notified.
    ///
    /// Without a veto, the result stays in memory until the next send calls the request's.
    func revalidate(_ stored: CacheEntry, _ conditions: HTTPHeaders, veto: CacheVeto?) async {
        // A failure leaves the stored response as it is.
        let answer = try? await surroundings.behind(prepared) { try await fetch($0, stored, conditions) }
        guard let answer, let caching = answer.caching, var entry = caching.entry else { return }
        if let veto, !veto(answer.payload, answer.response) { return }
        entry.isVetted = veto != nil
        cache.store(entry, for: key, since: caching.ticket)
    }
}
