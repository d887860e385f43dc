internal import Foundation

// The twelve stages of a send, in order. Each has a file of its own, and none calls back into an earlier one.
// `run` holds what touches the request and its model, and stays on its caller; `exchange` what runs in the background.
// Where several requests share one caller, `Composition/Part.swift` takes the same stages, one request's between another's.

extension Agent {
    /// Runs a send on its caller.
    func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        step: CacheStep = .whole,
        veto: () -> CacheVeto? = { nil },
        within deadline: Deadline? = nil,
        observedBy observer: (any Accessory)? = nil,
        delivering deliver: Deliver<R.Model>? = nil
    ) async throws -> Response<R.Model> {
        let send = makeSend(request, within: deadline, observedBy: observer)
        return try await run(request, as: send, formatting, step: step, veto: veto, delivering: deliver)
    }

    /// What a send with a callback delivers to.
    ///
    /// - Returns: Whether the result was delivered as it is, rather than as cancelled.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Response<Model>, any Error>) async -> Bool

    func makeSend<R: Request>(
        _ request: R,
        within deadline: Deadline? = nil,
        isPart: Bool = false,
        observedBy observer: (any Accessory)? = nil
    ) -> Send {
        Send(
            request,
            id: makeID(),
            config: currentConfig,
            timeline: timeline,
            within: deadline,
            isPart: isPart,
            observedBy: observer
        )
    }

    func run<R: Request>(
        _ request: R,
        as send: Send,
        _ formatting: Metrics.Formatting,
        step: CacheStep = .whole,
        veto: () -> CacheVeto? = { nil },
        delivering deliver: Deliver<R.Model>? = nil,
        settled: (Result<Response<R.Model>, any Error>) -> Void = { _ in }
    ) async throws -> Response<R.Model> {
        sends.note(send)
        send.watchDeadline()
        defer {
            send.finish()
            sends.forget(send)
        }
        await send.tell(.willStart)  // 1
        var prepared: PreparedRequest?
        let result: Result<Response<R.Model>, any Error>
        do {
            let ready = try send.prepare(request, step: step)  // 2
            prepared = ready
            sends.note(send, ready)
            let veto = ready.cacheUse?.refreshesBehind == true ? veto() : nil
            var answer = try await exchange(ready, veto: veto)  // 3 to 8
            let (model, metrics) =
                answer.caching == nil
                ? try send.format(answer, of: request, ready, formatting)  // 10
                : try await formatCached(&answer, of: request, ready, formatting, in: send)  // 9, 10
            try request.didProduce(model, from: answer.response)  // 11
            result = .success(answer.response(with: model, metrics: metrics))
        } catch {
            result = .failure(send.final(error, prepared))
        }
        settled(result)
        await send.tell(.willStop(Outcome(result)), prepared)  // 12
        // Until it is delivered, a callback may still be cancelled.
        let isCancelled = deliver != nil && send.stop.reason == .cancelled
        let isDelivered = await deliver?(isCancelled ? .failure(CancellationError()) : result) ?? true
        await send.tell(.didStop(isDelivered && !isCancelled ? Outcome(result) : .cancelled), prepared)
        return try result.get()
    }

    @concurrent
    func exchange(
        _ prepared: PreparedRequest,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss? = nil
    ) async throws -> Answer {
        // Once for each send: a stored response that turned out to be of no use is replaced inside of the same.
        guard miss == nil, prepared.isEnclosed else { return try await find(prepared, veto, miss) }
        return try await prepared.enclosed { try await self.find(prepared, veto, nil) }
    }

    private func find(_ prepared: PreparedRequest, _ veto: CacheVeto?, _ miss: CacheMiss?) async throws -> Answer {
        do {
            guard prepared.cacheUse != nil else { return try await fetch(prepared, validating: nil) }
            return try await cache.answer(to: prepared, by: self, veto: veto, insteadOf: miss)  // 3, 4
        } catch let refusal as GateRefusal {
            throw refusal.error
        }
    }

    func fetch(_ prepared: PreparedRequest, validating entry: CacheValidation?) async throws -> Answer {
        try await prepared.endingInTime {
            guard prepared.needsAdmission else { return try await self.attempt(prepared, validating: entry) }
            return try await self.admission.admit(prepared) { try await self.attempt($0, validating: entry) }  // 5
        }
    }

    private func attempt(_ prepared: PreparedRequest, validating entry: CacheValidation?) async throws -> Answer {
        try await retries.run(prepared) { attempt, record in
            try await logins.run(prepared, attempt: attempt, record, by: self) {
                var received = try await admission.turns.run(prepared, attempt: attempt) {  // 5
                    let outgoing = try await adapt(prepared, attempt: attempt, validating: entry)  // 6
                    return try await transmit(outgoing, of: prepared, attempt: attempt, record)  // 6
                }
                if let entry { received = try entry.merged(received, for: prepared.outgoing.url) }
                let judged = try accept(received, of: prepared)  // 7
                return try unwrap(judged, of: prepared, attempt: attempt)  // 8
            }
        }
    }
}
