internal import Foundation

// The twelve stages of a send, in order. Each has a file of its own, and none calls back into an earlier one.
// `run` holds what touches the request and its model, and stays on its caller; `exchange` what runs in the background.
// Where several requests share one caller, `Composition/Part.swift` takes the same stages, one request's between another's.

extension Agent {
    func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        step: CacheStep = .whole,
        veto: () -> CacheVeto? = { nil },
        within deadline: Deadline? = nil,
        observedBy observer: (any Accessory)? = nil,
        delivering deliver: (nonisolated(nonsending) (Result<Response<R.Model>, any Error>) async -> Void)? = nil
    ) async throws -> Response<R.Model> {
        let send = Send(
            request,
            id: makeID(),
            config: currentConfig,
            timeline: timeline,
            within: deadline,
            observedBy: observer
        )
        sends.note(send)
        defer { sends.forget(send) }
        await send.tell(.willStart)  // 1
        var prepared: PreparedRequest?
        let result: Result<Response<R.Model>, any Error>
        do {
            let ready = try send.prepare(request, step: step)  // 2
            prepared = ready
            sends.note(send, ready)
            let veto = ready.cacheUse?.refreshesBehind == true ? veto() : nil
            var answer = try await ready.run { try await self.exchange(ready, veto: veto) }
            let (model, metrics) =
                answer.caching == nil
                ? try send.format(answer, of: request, ready, formatting)  // 10
                : try await formatCached(&answer, of: request, ready, formatting, in: send)  // 9, 10
            try request.didProduce(model, from: answer.response)  // 11
            result = .success(answer.response(with: model, metrics: metrics))
        } catch {
            result = .failure(send.placing(error))
        }
        await send.tell(.willStop(Outcome(result)), prepared)  // 12
        await deliver?(result)
        await send.tell(.didStop(Outcome(result)), prepared)
        return try result.get()
    }

    @concurrent
    func exchange(
        _ prepared: PreparedRequest,
        veto: CacheVeto?,
        insteadOf miss: CacheMiss? = nil
    ) async throws -> Answer {
        guard prepared.needsAdmission else { return try await find(prepared, veto, miss) }
        return try await admission.admit(prepared) { try await self.find($0, veto, miss) }  // 3, 4
    }

    private func find(_ prepared: PreparedRequest, _ veto: CacheVeto?, _ miss: CacheMiss?) async throws -> Answer {
        guard prepared.cacheUse != nil else { return try await fetch(prepared, validating: nil) }
        return try await cache.answer(to: prepared, by: self, veto: veto, insteadOf: miss)  // 3, 5, 9
    }

    func fetch(_ prepared: PreparedRequest, validating entry: CacheValidation?) async throws -> Answer {
        try await retries.run(prepared) { attempt, record in
            try await logins.run(prepared, attempt: attempt, record, by: self) {
                var received = try await admission.turns.run(prepared, attempt: attempt) {  // 4
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
