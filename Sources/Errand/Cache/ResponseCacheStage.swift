internal import Foundation

/// Asks a request whether a response may be stored, if it can be asked from anywhere.
typealias CacheVeto = @Sendable (Payload, RawResponse) -> Bool

/// Stages 4 and 9: answers from the cache, and prepares what arrives for being stored.
///
/// It is stored when the request has been asked and the model is made, on the way to the caller.
struct ResponseCacheStage: Sendable {
    private let revalidations = CacheRevalidations()

    /// The number of revalidations under way in the background.
    var revalidationCount: Int { revalidations.count }

    /// - Parameters:
    ///   - prepared: The request.
    ///   - surroundings: The stages behind the cache.
    ///   - veto: Asks the request; `nil` if only its caller can.
    ///   - miss: Why nothing is looked up, if a stored response has just turned out to be of no use.
    /// - Returns: The response, with what the cache does once its model is made.
    /// - Throws: What the attempts throw, or ``NetworkError/Reason/notCached``.
    func answer(
        to prepared: PreparedRequest,
        in surroundings: CacheSurroundings,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss?
    ) async throws -> Answer {
        guard let use = prepared.cacheUse else { return try await surroundings.fetch(prepared, nil) }
        let lookup: CacheLookup
        do {
            lookup = try CacheLookup(prepared, use, in: surroundings)
        } catch {
            if use.policy == .cacheOnly { throw prepared.notCached(error) }
            var answer = try await surroundings.fetch(prepared, nil)
            answer.metrics.cacheMiss = error
            return answer
        }
        return try await lookup.answer(insteadOf: miss) { stored, conditions in
            revalidations.start(lookup.key) { await lookup.revalidate(stored, conditions, veto: veto) }
        }
    }

    /// What a send would find, without sending.
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

/// The revalidations under way in the background: at most one for each entry, each a send of its own that
/// ``Agent/cancelAll(where:)`` ends.
private struct CacheRevalidations: Sendable {
    private let running = Lock<[CacheKey: Task<Void, Never>]>([:])

    func start(_ key: CacheKey, _ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            guard running[key] == nil else { return }
            running[key] = Task { [self] in
                await work()
                self.running.withLock { $0[key] = nil }
            }
        }
    }

    var count: Int { running.withLock { $0.count } }
}
