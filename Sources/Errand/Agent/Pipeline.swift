internal import Foundation

// The twelve stages of a send, in order. Each has a file of its own, and none calls back into an earlier one.
// `run` holds what touches the request and its model, and stays on its caller; `exchange` what runs in the background.
// Where several requests share one caller, `Composition/Part.swift` takes the same stages, one request's between another's.

extension Agent {
    func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
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
            let ready = try send.prepare(request)  // 2
            prepared = ready
            sends.note(send, ready)
            let answer = try await ready.run { try await self.exchange(ready) }
            let (model, metrics) = try send.format(answer, of: request, ready, formatting)  // 10
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
    func exchange(_ prepared: PreparedRequest) async throws -> Answer {
        let identity = { RequestIdentity(prepared) }  // 3
        return try await admission.admit(prepared, identity) {  // 4
            try await cache.answer(to: prepared, identity) {  // 5, 9
                try await retries.run(prepared) { attempt in
                    try await logins.run(prepared, attempt: attempt, by: self) {
                        let outgoing = try await adapt(prepared, attempt: attempt)  // 6
                        let received = try await transmit(outgoing, of: prepared, attempt: attempt)  // 6
                        let judged = try accept(received, of: prepared)  // 7
                        return try unwrap(judged, of: prepared, attempt: attempt)  // 8
                    }
                }
            }
        }
    }
}
