internal import Foundation

/// What stands behind the cache.
struct CacheSurroundings: Sendable {
    /// Asks the network, or has the server validate an entry.
    let fetch: @Sendable (PreparedRequest, CacheValidation?) async throws -> Answer
    /// Takes a stored response through the stages 7 and 8, as if it had just arrived.
    let judge: @Sendable (RawResponse, PreparedRequest) throws -> Answer
    /// Runs what nobody waits for, as a send of its own that can be ended like any other.
    let behind:
        @Sendable (PreparedRequest, @escaping @Sendable (PreparedRequest) async throws -> Answer) async throws -> Answer
    let timeline: Timeline
}

/// A send whose policy knows the cache.
struct CachedSend: Sendable {
    let prepared: PreparedRequest
    let use: CacheUse
    let surroundings: CacheSurroundings

    /// Goes past the cache, and says why.
    func uncached(_ miss: CacheMiss) async throws -> Answer {
        if case .cacheOnly = use.policy { throw notCached(miss) }
        var answer = try await surroundings.fetch(prepared, nil)
        answer.metrics.cacheMiss = miss
        return answer
    }

    func notCached(_ reason: any Error) -> NetworkError {
        NetworkError(.notCached, underlying: reason)
            .placed(at: prepared.outgoing.url, method: prepared.outgoing.method)
    }

    /// A stored answer through the stages 7 and 8, as if it had just arrived.
    func judge(_ entry: CacheEntry, age: Duration) throws -> Answer? {
        guard var response = entry.response(for: prepared.outgoing.url) else { return nil }
        if case .http = use.policy { response.headers["Age"] = String(age.components.seconds) }
        return try surroundings.judge(response, prepared)
    }
}

extension PreparedRequest {
    /// Removes from the cache what an unsafe method may have changed, whatever the policy (RFC 9111, section 4.4).
    ///
    /// - Parameters:
    ///   - response: What it was answered, a redirect too.
    ///   - sent: What was sent.
    ///   - isFirst: Whether it was sent for the request itself and not for a redirect.
    func invalidate(by response: RawResponse, to sent: OutgoingRequest, isFirst: Bool) {
        // Such a request changes nothing, by its own account.
        guard let cache, !cacheIdentity.allowsAnyMethod else { return }
        var targets = [sent.url]
        // Entries have the name of the URL before adapters; what an interceptor sends elsewhere is not about it.
        let isOwn = !outgoing.method.isSafe || sent.url.path() == outgoing.url.path()
        if isFirst, isOwn, sent.url != outgoing.url { targets.append(outgoing.url) }
        cache.invalidate(targets, by: response)
    }
}

/// What is to be done with an answer on its way to the caller, because of the cache.
struct AnswerCaching: Sendable {
    let cache: ResponseCache
    let key: CacheKey
    /// What is stored when the request does not mind; `nil` when nothing is.
    var entry: CacheEntry?
    /// From before the request was sent.
    var ticket: ResponseCache.Ticket?
    /// Whether the answer was stored.
    var isHit = false
    /// How it is fetched anew behind the send; `nil` when it is not.
    var refresh: Refresh?
    /// Whether a fresh answer follows in the same sequence.
    var isFollowed = false

    struct Refresh: Sendable {
        /// What the server is asked; `nil` asks it anew.
        let validation: CacheValidation?
    }

    func commit() {
        guard var entry else { return }
        entry.isVetted = true
        cache.store(entry, for: key, since: ticket)
    }
}

/// The way of a request through the cache that has a name there.
struct CacheLookup: Sendable {
    let send: CachedSend
    let cache: ResponseCache
    let identification: CacheIdentification

    private var policy: CachePolicy { send.use.policy }
    private var fields: HTTPHeaders { send.prepared.outgoing.headers }

    /// What the cache says before the network is asked.
    private enum Before {
        case hit(CacheEntry, age: Duration, isRefreshed: Bool)
        case miss(CacheMiss, CacheEntry?, conditions: HTTPHeaders)
    }

    func answer(insteadOf skipped: CacheMiss?) async throws -> Answer {
        let began = send.surroundings.timeline.now()
        var before = Before.miss(skipped ?? .bypassed, nil, conditions: [:])
        if skipped == nil, policy.readsFirst { before = try await read() }
        if case .hit(let entry, let age, let isRefreshed) = before {
            if var answer = hit(entry, age: age, .cache(age: age), isRefreshed: isRefreshed) {
                answer.metrics.cacheLookup = send.surroundings.timeline.now() - began
                return answer
            }
            before = .miss(.refused, nil, conditions: [:])
        }
        guard case .miss(let miss, let stored, let conditions) = before else { throw send.notCached(CacheMiss.absent) }
        let looked = send.surroundings.timeline.now() - began
        if case .cacheOnly = policy { throw send.notCached(miss) }
        if case .http = policy, CacheDirectives(fields).onlyIfCached { throw send.notCached(miss) }
        do {
            var answer = try await fetch(stored, conditions)
            // Why nothing is stored says more than that nothing was.
            answer.metrics.cacheMiss = answer.metrics.cacheMiss ?? miss
            answer.metrics.cacheLookup = looked
            return answer
        } catch {
            guard var answer = try await standIn(for: error, stored: stored) else { throw error }
            answer.metrics.cacheMiss = miss
            answer.metrics.cacheLookup = looked
            return answer
        }
    }

    func forecast() async throws -> CacheForecast {
        guard policy.readsFirst else { return .miss(.bypassed) }
        switch try await read() {
        case .hit(_, let age, _): return .hit(age: age)
        case .miss(let reason, _, _):
            // Its adapters have run for the plan.
            return .miss(send.prepared.identityCheck?.isChanged == true ? .unknownScope : reason)
        }
    }

    private func read() async throws -> Before {
        do {
            let entry = try await find()
            let now = cache.now()
            guard case .http = policy else {
                let age = entry.age(at: now)
                switch policy.reading(age: age) {
                case .use: return .hit(entry, age: age ?? .zero, isRefreshed: false)
                case .useAndRefresh: return .hit(entry, age: age ?? .zero, isRefreshed: true)
                case .refuse(let reason): return .miss(reason, nil, conditions: [:])
                }
            }
            var decision = CacheControl.decision(now: now, request: fields, entry: entry)
            if case .second = send.use.step { decision = CacheControl.ask(entry, .bypassed) }
            switch decision {
            case .use: return .hit(entry, age: age(of: entry, now), isRefreshed: false)
            case .useAndRefresh: return .hit(entry, age: age(of: entry, now), isRefreshed: true)
            case .validate(let conditions, let reason): return .miss(reason, entry, conditions: conditions)
            case .fetch(let reason): return .miss(reason, entry, conditions: [:])
            }
        } catch let miss as CacheMiss {
            return .miss(miss, nil, conditions: [:])
        }
    }

    /// - Throws: ``CacheMiss``, or `CancellationError`.
    private func find() async throws -> CacheEntry {
        let entry = try await cache.entry(for: identification.key, endedBy: send.prepared.stop)
        guard CacheControl.fits(entry, request: fields) else { throw CacheMiss.varies }
        return entry
    }

    private func age(of entry: CacheEntry, _ now: Date) -> Duration {
        if case .http = policy { return CacheControl.age(of: entry, now: now) ?? .zero }
        return entry.age(at: now) ?? .zero
    }

    /// The answer that an entry is; `nil`, and the entry removed, when it does not pass any more.
    private func hit(_ entry: CacheEntry, age: Duration, _ source: Source, isRefreshed: Bool = false) -> Answer? {
        // Whatever refuses it: what is not taken any more is fetched anew.
        guard var answer = (try? send.judge(entry, age: age)) ?? nil else {
            cache.remove(for: identification.key)
            return nil
        }
        answer.source = source
        var caching = AnswerCaching(cache: cache, key: identification.key, isHit: true)
        if !entry.isVetted { caching.entry = entry }
        if isRefreshed {
            if send.use.refreshesBehind { caching.refresh = AnswerCaching.Refresh(validation: validation(of: entry)) }
            if case .first = send.use.step { caching.isFollowed = true }
        }
        if send.use.isFollowed { caching.isFollowed = true }
        answer.caching = caching
        return answer
    }

    private func validation(of entry: CacheEntry) -> CacheValidation? {
        guard case .http = policy, case .validate(let conditions, _) = CacheControl.ask(entry, .expired) else {
            return nil
        }
        return validation(of: entry, conditions)
    }

    private func validation(of entry: CacheEntry, _ conditions: HTTPHeaders) -> CacheValidation {
        CacheValidation(entry: entry, conditions: conditions, requested: cache.now(), now: cache.now)
    }

    // MARK: The network

    private func fetch(_ stored: CacheEntry?, _ conditions: HTTPHeaders) async throws -> Answer {
        guard let stored, !conditions.isEmpty else { return try await fetch(send.prepared, validating: nil) }
        do {
            return try await fetch(send.prepared, validating: validation(of: stored, conditions))
        } catch is CacheValidation.Unconfirmed {
            cache.remove(for: identification.key)
            return try await fetch(send.prepared, validating: nil)
        }
    }

    private func fetch(_ prepared: PreparedRequest, validating validation: CacheValidation?) async throws -> Answer {
        let (ticket, requested) = (cache.ticket, cache.now())
        var answer = try await send.surroundings.fetch(prepared, validation)
        var caching = AnswerCaching(cache: cache, key: identification.key, ticket: ticket)
        if answer.response.cacheNote?.isUnidentified == true {
            // What is stored may be another user's, and so may this.
            if answer.response.cacheNote?.confirmed != nil { answer.source = .revalidated }
            cache.remove(for: identification.key)
            answer.metrics.cacheMiss = .unknownScope
            answer.caching = caching
            return answer
        }
        if let confirmed = answer.response.cacheNote?.confirmed {
            answer.source = .revalidated
            caching.entry = confirmed
        } else {
            caching.entry = entry(for: answer.response, requested: requested)
        }
        if case .http = policy, prepared.outgoing.method == .head {
            await refreshGet(by: answer.response, requested: requested)
        }
        answer.caching = caching
        return answer
    }

    /// What is stored of an answer that has passed the stages 7 and 8; `nil` when it may not be.
    private func entry(for response: RawResponse, requested: Date) -> CacheEntry? {
        guard response.failure == nil, CacheControl.isStorable(response) else { return nil }
        if case .http = policy, !CacheControl.mayStore(response, request: fields) { return nil }
        if let note = response.cacheNote {
            // The name of the entry says nothing of these.
            if note.changesVary { return nil }
        } else if !CacheControl.varyNames(response.headers).isEmpty {
            // An interceptor made it, and nobody knows what was sent.
            return nil
        }
        var entry = CacheEntry(
            response,
            method: send.prepared.outgoing.method,
            requested: requested,
            received: cache.now(),
            version: send.prepared.cacheIdentity.version,
            variant: send.prepared.cacheIdentity.variant,
            scope: identification.scope
        )
        entry.headers = CacheControl.storedHeaders(response.headers)
        entry.vary = CacheControl.vary(response.headers, request: fields)
        return entry
    }

    /// A HEAD tells whether the stored answer to a GET still holds.
    private func refreshGet(by head: RawResponse, requested: Date) async {
        let (prepared, version) = (send.prepared, cache.appVersion)
        // Without a name, or without an entry, there is nothing to refresh.
        guard head.statusCode == 200,
            let key = try? CacheIdentification(prepared, appVersion: version, method: .get).key,
            let entry = try? await cache.entry(for: key), CacheControl.fits(entry, request: fields)
        else { return }
        let merged = CacheControl.merging(entry, withHead: head, requested: requested, received: cache.now())
        if let merged { cache.store(merged, for: key) } else { cache.remove(for: key) }
    }

    /// The stored answer that may take the place of a failure.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile.
    private func standIn(for error: any Error, stored: CacheEntry?) async throws -> Answer? {
        guard (error as? NetworkError)?.isFailureOfNetwork ?? (error is GateRefusal) else { return nil }
        let error = (error as? GateRefusal)?.error ?? error
        // What is stored may be another user's than the one that the failed request showed.
        if send.prepared.identityCheck?.isChanged == true { return nil }
        if case .http = policy {
            guard let stored, CacheControl.mayStandIn(now: cache.now(), request: fields, entry: stored) else {
                return nil
            }
            let age = age(of: stored, cache.now())
            return hit(stored, age: age, .stale(age: age, error: error))
        }
        guard policy.readingAfterFailure(age: .zero) == .use else { return nil }
        let entry: CacheEntry
        do {
            entry = try await find()
        } catch let error as CancellationError where send.prepared.stop.reason != .deadline {
            throw error
        } catch {
            // Where nothing is found the failure itself is told.
            return nil
        }
        let age = entry.age(at: cache.now())
        guard policy.readingAfterFailure(age: age) == .use else { return nil }
        return hit(entry, age: age ?? .zero, .stale(age: age ?? .zero, error: error))
    }

    // MARK: Behind the send

    /// Fetches a newer answer and stores it; nobody waits for it, and no accessory is told.
    ///
    /// Where only its caller can ask the request, the answer stays in memory until the next send does.
    func refresh(_ refresh: AnswerCaching.Refresh, veto: CacheVeto?) async {
        // Its failure concerns nobody: the entry stays as it is.
        let answer = try? await send.surroundings.behind(send.prepared) { prepared in
            do {
                return try await fetch(prepared, validating: refresh.validation)
            } catch is CacheValidation.Unconfirmed {
                cache.remove(for: identification.key)
                return try await fetch(prepared, validating: nil)
            }
        }
        guard let answer, let caching = answer.caching, var entry = caching.entry else { return }
        if let veto, !veto(answer.payload, answer.response) { return }
        entry.isVetted = veto != nil
        cache.store(entry, for: identification.key, since: caching.ticket)
    }
}
