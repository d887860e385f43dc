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
        observedBy observer: (any Accessory)? = nil,
        delivering deliver: Deliver<R.Model>? = nil
    ) async throws -> Produced<R.Model> {
        let send = makeSend(request, observedBy: observer)
        return try await run(request, as: send, formatting, step: step, veto: veto, delivering: deliver)
    }

    /// A model, and the answer that it was made of.
    typealias Produced<Model> = (model: Model, answer: Answer)

    /// What a send with a callback delivers to.
    ///
    /// - Returns: Whether the result was delivered as it is, rather than as cancelled.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Response<Model>, any Error>) async -> Bool

    /// Told what a send comes to, before its accessories are.
    typealias Settle<Model> = (Result<Produced<Model>, any Error>) -> Void

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
        settled: Settle<R.Model>? = nil
    ) async throws -> Produced<R.Model> {
        let prepared: PreparedRequest
        let answer: Answer
        do {
            prepared = try await prepare(request, as: send, step: step)  // 1, 2
            let veto = prepared.cacheUse?.refreshesBehind == true ? veto() : nil
            answer = try await exchange(prepared, veto: veto)  // 3 to 8
        } catch {
            throw await end(send, throwing: error, delivering: deliver, settled: settled)  // 12
        }
        return try await finish(
            answer,
            of: request,
            prepared,
            as: send,
            formatting,
            delivering: deliver,
            settled: settled
        )  // 9 to 12
    }

    /// Stages 1 and 2: begins a send, and takes what its request says.
    func prepare<R: Request>(_ request: R, as send: Send, step: CacheStep = .whole) async throws -> PreparedRequest {
        sends.note(send)
        send.watchDeadline()
        if !send.accessories.isEmpty { await send.tell(.willStart) }  // 1
        return try send.prepare(request, step: step)  // 2
    }

    /// Stages 9 to 12: makes the model of what was fetched, and ends the send.
    func finish<R: Request>(
        _ fetched: consuming Answer,
        of request: R,
        _ prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        delivering deliver: Deliver<R.Model>? = nil,
        settled: Settle<R.Model>? = nil
    ) async throws -> Produced<R.Model> {
        var answer = fetched
        let model: R.Model
        do {
            if answer.caching == nil {
                model = try send.format(&answer, of: request, prepared, formatting)  // 10
            } else {
                model = try await formatCached(&answer, of: request, prepared, formatting, in: send)  // 9, 10
            }
            try request.didProduce(model, from: answer.response)  // 11
        } catch {
            throw await end(send, throwing: error, delivering: deliver, settled: settled)  // 12
        }
        if settled != nil || deliver != nil || !send.accessories.isEmpty {
            await tellEnd(of: send, with: model, of: answer, delivering: deliver, settled: settled)  // 12
        }
        end(send)
        return (model, answer)
    }

    /// Stage 12 of a send that failed; returns the error as the caller gets it.
    func end<Model>(
        _ send: Send,
        throwing error: any Error,
        delivering deliver: Deliver<Model>? = nil,
        settled: Settle<Model>? = nil
    ) async -> any Error {
        let error = send.final(error)
        settled?(.failure(error))
        await tellEnd(of: send, Outcome(error), delivering: deliver, .failure(error))
        end(send)
        return error
    }

    private func end(_ send: Send) {
        send.finish()
        sends.forget(send)
    }

    /// Ends a send whose caller is gone, so that nobody takes in what was fetched.
    func abandon(_ send: Send) async {
        end(send)
        await send.tell(.willStop(.cancelled))
        await send.tell(.didStop(.cancelled))
    }

    private func tellEnd<Model>(
        of send: Send,
        with model: Model,
        of answer: Answer,
        delivering deliver: Deliver<Model>?,
        settled: Settle<Model>?
    ) async {
        settled?(.success((model, answer)))
        await tellEnd(of: send, Outcome(answer), delivering: deliver, .success(answer.response(with: model)))
    }

    /// Stage 12: notifies the accessories, and between that calls back.
    private func tellEnd<Model>(
        of send: Send,
        _ outcome: Outcome,
        delivering deliver: Deliver<Model>?,
        _ result: Result<Response<Model>, any Error>
    ) async {
        await send.tell(.willStop(outcome))
        // Until it is delivered, a callback may still be cancelled.
        let isCancelled = deliver != nil && send.stop.reason == .cancelled
        let isDelivered = await deliver?(isCancelled ? .failure(CancellationError()) : result) ?? true
        await send.tell(.didStop(isDelivered && !isCancelled ? outcome : .cancelled))
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
        do {
            try prepared.stop.check()
            guard prepared.waitsElsewhere else { return try await attempt(prepared, validating: entry) }
            return try await prepared.stop.run {
                guard prepared.needsAdmission else { return try await self.attempt(prepared, validating: entry) }
                return try await self.admission.admit(prepared) { try await self.attempt($0, validating: entry) }  // 5
            }
        } catch is CancellationError {
            throw prepared.stopError
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
                try accept(&received, of: prepared)  // 7
                return try unwrap(received, of: prepared, attempt: attempt)  // 8
            }
        }
    }
}
