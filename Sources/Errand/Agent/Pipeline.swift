internal import Foundation

// The twelve stages of a send, in order. Each has a file of its own, and none calls back into an earlier one.
// `run` holds what touches the request and its model, and stays on its caller; `exchange` what runs in the background.

extension Agent {
    func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        delivering deliver: ((Result<R.Model, any Error>) async -> Void)? = nil
    ) async throws -> Response<R.Model> {
        let send = Send(request, id: makeID(), config: currentConfig, timeline: timeline)
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
        await deliver?(result.map(\.model))
        await send.tell(.didStop(Outcome(result)), prepared)
        return try result.get()
    }

    @concurrent
    private func exchange(_ prepared: PreparedRequest) async throws -> Answer {
        guard prepared.needsAdmission else { return try await fetch(prepared) }
        return try await admission.admit(prepared) { try await self.fetch($0) }  // 4
    }

    private func fetch(_ prepared: PreparedRequest) async throws -> Answer {
        let identity = { RequestIdentity(prepared) }  // 3
        return try await cache.answer(to: prepared, identity) {  // 5, 9
            try await retries.run(prepared) { attempt in
                try await logins.run(prepared, attempt: attempt, by: self) {
                    let received = try await admission.turns.run(prepared, attempt: attempt) {  // 4
                        let outgoing = try await adapt(prepared, attempt: attempt)  // 6
                        return try await transmit(outgoing, of: prepared, attempt: attempt)  // 6
                    }
                    let judged = try accept(received, of: prepared)  // 7
                    return try unwrap(judged, of: prepared, attempt: attempt)  // 8
                }
            }
        }
    }
}
