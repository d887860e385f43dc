internal import Foundation

/// A request's decision whether a response may be stored, if it can be called in any context.
typealias CacheVeto = @Sendable (Payload, RawResponse) -> Bool

/// The stages behind the cache.
struct CacheSurroundings: Sendable {
    /// Sends the request, or has the server validate a stored response.
    let fetch: @Sendable (PreparedRequest, CacheValidation?) async throws -> AcceptedResponse
    /// Runs stages 7 and 8 on a stored response, as if it had just been received.
    let judge: @Sendable (RawResponse, PreparedRequest) throws -> AcceptedResponse
    /// Runs work in the background, as a send of its own that can be ended like any other.
    let inBackground:
        @Sendable (PreparedRequest, @escaping @Sendable (PreparedRequest) async -> SendOutcome) async -> Ended
    let timeline: Timeline

    /// How work in the background ended, and the context of its send.
    typealias Ended = (outcome: SendOutcome, context: RequestContext)
}

/// Stages 4 and 9: returns stored responses, and prepares received ones for storing.
///
/// A response is stored once the request has allowed it and the model is created, before it is returned to the caller.
struct ResponseCacheStage: Sendable {
    /// Returns the response to a request, from the cache or from the server.
    ///
    /// - Parameters:
    ///   - prepared: The request.
    ///   - surroundings: The stages behind the cache.
    ///   - veto: The request's decision, or `nil` if only its caller can call it.
    ///   - miss: The reason not to look up, if a stored response has just proved unusable.
    /// - Returns: The response, with what the cache does once its model is created.
    /// - Throws: The error of the attempts, or ``NetworkError/Reason/notCached``.
    func response(
        to prepared: PreparedRequest,
        in surroundings: CacheSurroundings,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss?
    ) async throws -> AcceptedResponse {
        guard let use = prepared.cacheUse else { return try await surroundings.fetch(prepared, nil) }
        let lookup: CacheLookup
        do {
            lookup = try await CacheLookup(prepared, use, in: surroundings)
        } catch let error as CacheMiss {
            if use.allowsOnlyStored(for: prepared.outgoing.headers) { throw prepared.notCached(error) }
            var accepted = try await surroundings.fetch(prepared, nil)
            accepted.times.cacheMiss = error
            return accepted
        }
        return try await lookup.response(insteadOf: miss, veto: veto)
    }

    /// Returns what a send would find, without sending.
    ///
    /// - Throws: `CancellationError`.
    func forecast(_ prepared: PreparedRequest, in surroundings: CacheSurroundings) async throws -> CacheForecast {
        guard let use = prepared.cacheUse else { return .unused }
        do {
            return try await CacheLookup(prepared, use, in: surroundings).forecast()
        } catch let miss as CacheMiss {
            return .miss(miss)
        }
    }
}

extension CacheLookup {
    fileprivate func forecast() async throws -> CacheForecast {
        if storesForGet { return .miss(.methodNotCached) }
        guard policy.lookupTime == .beforeRequest else { return .miss(.bypassed) }
        var place = place
        switch try await lookUp(at: &place).decision {
        case .use(let age), .useAndRevalidate(let age, _): return .hit(age: age)
        case .miss(let reason, _): return .miss(reason)
        }
    }
}
