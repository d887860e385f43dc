internal import Foundation

/// Asks a request whether an answer may be stored, where it can be asked from anywhere.
typealias CacheVeto = @Sendable (Payload, RawResponse) -> Bool

/// Stages 5 and 9: answers from the cache, and prepares what arrives for being stored.
///
/// It is stored when the request has been asked and the model is made, on the way to the caller.
struct ResponseCacheStage: Sendable {
    private let refreshes = CacheRefreshes()

    /// How many refreshes go on in the background.
    var refreshCount: Int { refreshes.count }

    /// - Parameters:
    ///   - prepared: The request.
    ///   - surroundings: Fetches and judges.
    ///   - veto: Asks the request; `nil` when only its caller can.
    ///   - miss: Why nothing is read, where a stored answer has just turned out to be of no use.
    /// - Returns: The answer, with what the cache still wants of its caller.
    /// - Throws: What the attempts throw, or ``NetworkError/Reason/notCached``.
    func answer(
        to prepared: PreparedRequest,
        in surroundings: CacheSurroundings,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss?
    ) async throws -> Answer {
        guard let use = prepared.cacheUse else { return try await surroundings.fetch(prepared, nil) }
        let send = CachedSend(prepared: prepared, use: use, surroundings: surroundings)
        guard let cache = use.cache else { return try await send.uncached(.noCache) }
        let identification: CacheIdentification
        do {
            identification = try CacheIdentification(prepared, appVersion: cache.appVersion)
        } catch {
            return try await send.uncached(error)
        }
        let lookup = CacheLookup(send: send, cache: cache, identification: identification)
        let answer = try await lookup.answer(insteadOf: miss)
        if let refresh = answer.caching?.refresh {
            refreshes.start(identification.key) { await lookup.refresh(refresh, veto: veto) }
        }
        return answer
    }

    /// What a send would find, without sending.
    ///
    /// - Throws: `CancellationError`.
    func forecast(_ prepared: PreparedRequest, in surroundings: CacheSurroundings) async throws -> CacheForecast {
        guard let use = prepared.cacheUse else { return .unused }
        guard let cache = use.cache else { return .miss(.noCache) }
        do {
            let identification = try CacheIdentification(prepared, appVersion: cache.appVersion)
            let send = CachedSend(prepared: prepared, use: use, surroundings: surroundings)
            return try await CacheLookup(send: send, cache: cache, identification: identification).forecast()
        } catch let miss as CacheMiss {
            return .miss(miss)
        }
    }
}

/// What the cache would do for a request.
public enum CacheForecast: Sendable, Hashable, CustomStringConvertible {
    /// Nothing: the policy is ``CachePolicy/networkOnly``.
    case unused
    /// A stored answer of this age would be used before the network is asked.
    case hit(age: Duration)
    /// The network would be asked, or with ``CachePolicy/cacheOnly`` the send would fail.
    case miss(CacheMiss)

    /// The forecast in words.
    public var description: String {
        switch self {
        case .unused: "not used"
        case .hit(let age): "a hit, \(age) old"
        case .miss(let reason): "a miss (\(reason.rawValue))"
        }
    }
}

/// The refreshes that go on behind their sends: one for each entry, each with an end of its own, and each a send that
/// ``Agent/cancelAll(where:)`` reaches.
private struct CacheRefreshes: Sendable {
    private let running = Lock<[CacheKey: Task<Void, Never>]>([:])

    func start(_ key: CacheKey, _ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            guard running[key] == nil else { return }
            running[key] = Task { [self] in
                await work()
                finish(key)
            }
        }
    }

    var count: Int { running.withLock { $0.count } }

    private func finish(_ key: CacheKey) { running.withLock { $0[key] = nil } }
}
