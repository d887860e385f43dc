internal import Synchronization

/// The twelve stages of a send, in order; each has a file of its own, and none calls back into an earlier one.
///
/// A send is three calls: ``prepare(_:as:step:)`` in the request's context, ``response(to:veto:insteadOf:)`` in the
/// background, and `finish` in the formatter's context. Every way to send makes these three calls.
final class Pipeline: Sendable {
    let transport: any StoppableTransport
    /// Whether the transport is the user's own, which runs in the child task of its send.
    let hasForeignTransport: Bool
    /// Whether the transport reads the requests themselves.
    private let readsRequests: Bool
    /// A digest of the identity of the transport, or an empty text if it has none.
    let transportIdentity: String
    let timeline: Timeline
    let sends = RunningSends()
    let admission: Admission
    let cache = ResponseCacheStage()
    let diagnostics = ReportedDiagnostics()
    let retries: RetryLoop
    let authentication: UnauthorizedRetry
    private static let lastID = Atomic<Int>(0)

    init(transport: any Transport, timeline: Timeline) {
        let own = transport as? any StoppableTransport
        self.transport = own ?? ForeignTransport(transport: transport)
        hasForeignTransport = own == nil
        readsRequests = transport is any RequestReadingTransport
        let identity = transport.identity
        transportIdentity = identity.isEmpty ? "" : CacheIdentification.digest(["transport", identity])
        self.timeline = timeline
        admission = Admission(timeline: timeline)
        retries = RetryLoop(timeline: timeline)
        authentication = UnauthorizedRetry(timeline: timeline)
    }

    /// Returns a number that is unique in this process, because an accessory may belong to several agents.
    func makeID() -> Int { Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension Pipeline {
    /// A model and the response that it was created from.
    typealias Produced<Model> = (model: Model, accepted: AcceptedResponse)

    /// A function that a send with a callback calls with its result.
    ///
    /// - Returns: Whether the result was delivered unchanged, rather than as cancelled.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Response<Model>, any Error>) async -> Bool

    /// Fetches a response in place of a stored one that is not usable.
    typealias Replace = @Sendable (CacheMiss) async throws -> AcceptedResponse

    /// Runs all stages on one caller.
    func run<R: Request>(
        _ request: R,
        as send: Send,
        _ formatting: Metrics.Formatting,
        step: CacheStep = .whole,
        veto: () -> CacheVeto? = { nil },
        delivering deliver: Deliver<R.Model>? = nil
    ) async throws -> Produced<R.Model> {
        let prepared: PreparedRequest
        let accepted: AcceptedResponse
        do {
            prepared = try await prepare(request, as: send, step: step)  // 1, 2
            let veto = prepared.cacheUse?.revalidatesInBackground == true ? veto() : nil
            accepted = try await response(to: prepared, veto: veto)  // 3 to 8
        } catch {
            throw await end(send, throwing: error, delivering: ending(deliver))  // 12
        }
        return try await finish(
            consume accepted,
            of: request,
            prepared,
            as: send,
            formatting,
            delivering: deliver
        ) {  // 9 to 12
            try await self.response(to: prepared, veto: nil, insteadOf: $0)
        }
    }

    /// Runs stages 1 and 2: begins a send, and reads the members of its request.
    func prepare<R: Request>(_ request: R, as send: Send, step: CacheStep = .whole) async throws -> PreparedRequest {
        sends.note(send)
        send.watchDeadline()
        if !send.accessories.isEmpty { await send.notify(.willStart) }  // 1
        let prepared = try send.prepare(request, step: step, notesRequest: readsRequests)  // 2
        if prepared.isDiagnosed { await diagnose(request, prepared, as: send) }
        return prepared
    }

    @concurrent
    func response(
        to prepared: PreparedRequest,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss? = nil
    ) async throws -> AcceptedResponse {
        // A plain request has nothing around its attempts.
        guard prepared.isEnclosed || prepared.needsAdmission else { return try await fetch(prepared, validating: nil) }
        // Once for each send: a stored response that is not usable is replaced inside the same interceptors.
        guard miss == nil, prepared.isEnclosed else { return try await find(prepared, veto, miss) }
        return try await prepared.enclosed { try await self.find(prepared, veto, nil) }
    }

    private func find(
        _ prepared: PreparedRequest,
        _ veto: CacheVeto?,
        _ miss: CacheMiss?
    ) async throws -> AcceptedResponse {
        do {
            guard prepared.cacheUse != nil else { return try await fetch(prepared, validating: nil) }
            let replaces = prepared.duplicatePolicy == .cancelPrevious
            let last = replaces ? admission.fetches.lastID : 0
            let found = try await cache.response(to: prepared, in: aroundCache, veto: veto, insteadOf: miss)  // 3, 4
            if replaces, case .cache = found.source {
                admission.fetches.end(replacedBy: prepared, upTo: last, isPassing: admission.permits.isPassedBy)
            }
            return found
        } catch let rejection as GateRejection {
            throw rejection.error
        }
    }

    /// The other stages, as the cache uses them.
    var aroundCache: CacheSurroundings {
        CacheSurroundings(
            fetch: { try await self.fetch($0, validating: $1) },
            judge: { try self.judge($0, of: $1, attempt: 0) },
            inBackground: { send, work in
                let prepared = PreparedRequest(inBackground: send, id: self.makeID(), timeline: self.timeline)
                let outcome = await self.sends.run(inBackground: prepared) { await work(prepared) }
                return (outcome, prepared.context)
            },
            timeline: timeline
        )
    }

    private func fetch(_ prepared: PreparedRequest, validating entry: CacheValidation?) async throws -> AcceptedResponse
    {
        do {
            // A send that waits for nothing else is checked right before its exchange.
            guard prepared.waitsElsewhere || hasForeignTransport else {
                return try await attempt(prepared, validating: entry)
            }
            return try await prepared.stop.run {
                guard prepared.needsAdmission else { return try await self.attempt(prepared, validating: entry) }
                return try await self.admission.admit(prepared) { try await self.attempt($0, validating: entry) }  // 5
            }
        } catch is CancellationError {
            throw prepared.stopError
        }
    }

    private func attempt(
        _ prepared: PreparedRequest,
        validating entry: CacheValidation?
    ) async throws -> AcceptedResponse {
        try await retries.run(prepared) { prepared, attempt, record in
            try await authentication.run(prepared, attempt: attempt, record) {
                var received = try await admission.permits.run(prepared, attempt: attempt) {  // 5
                    guard prepared.mayChangeOnItsWay || entry != nil else {
                        return try await follow(prepared.built.outgoing, of: prepared, record)  // 6
                    }
                    return try await adaptAndTransmit(prepared, attempt: attempt, validating: entry, record)  // 6
                }
                if let entry { received = try entry.merged(received, for: prepared) }
                return try judge(consume received, of: prepared, attempt: attempt)  // 7, 8
            }
        }
    }
}
