/// Where a request runs that belongs to a composition: whose loop it lands on, what ends it, and until when.
struct Part {
    /// Called once, on the caller.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Made<Model>, any Error>) async -> Void

    let agent: Agent
    let loop: CallerLoop
    let stop: PartStop
    var deadline: Deadline?
    /// Told how far the outermost batch or chain is; `nil` within it.
    var report: (@Sendable (CompositionProgress) -> Void)?

    /// Starts a request that stays on the caller: prepared and formatted there, and between that in the background.
    func begin<R: Request>(
        _ request: R,
        _ formatting: Metrics.Formatting = .callerByNeed,
        veto: CacheVeto? = nil,
        then deliver: @escaping Deliver<R.Model>
    ) async {
        if let composition = request._composition { return await composition.begin(self, deliver) }
        if let error = refusal { return await deliver(.failure(error)) }
        let send = agent.makeSend(request, within: deadline, isPart: true)
        let stopID = stop.add { send.stop.stop() }
        agent.sends.note(send)
        send.watchDeadline()
        await send.tell(.willStart)  // 1
        let ready: PreparedRequest
        do {
            ready = try send.prepare(request)  // 2
            agent.sends.note(send, ready)
        } catch {
            return await end(send, nil, .failure(send.final(error, nil)), stopID, deliver)
        }
        loop.launch(endedBy: stop) { [agent] in
            do {
                return Result.success(try await agent.exchange(ready, veto: veto))  // 3 to 9
            } catch {
                return .failure(error)
            }
        } abandoned: { [agent] in
            send.finish()
            agent.sends.forget(send)
            await send.tell(.willStop(.cancelled), ready)
            await send.tell(.didStop(.cancelled), ready)
        } then: { (answer: Result<Answer, any Error>) in
            let result: Result<Response<R.Model>, any Error>
            do {
                var answer = try answer.get()
                let (model, metrics) =
                    answer.caching == nil
                    ? try send.format(answer, of: request, ready, formatting)  // 10
                    : try await agent.formatCached(&answer, of: request, ready, formatting, in: send)  // 9, 10
                try request.didProduce(model, from: answer.response)  // 11
                result = .success(answer.response(with: model, metrics: metrics))
            } catch {
                result = .failure(send.final(error, ready))
            }
            await end(send, ready, result, stopID, deliver)
        }
    }

    private func end<Model>(
        _ send: Send,
        _ prepared: PreparedRequest?,
        _ result: Result<Response<Model>, any Error>,
        _ stopID: Int,
        _ deliver: Deliver<Model>
    ) async {
        await send.tell(.willStop(Outcome(result)), prepared)  // 12
        await send.tell(.didStop(Outcome(result)), prepared)
        send.finish()
        agent.sends.forget(send)
        stop.remove(stopID)
        await deliver(result.map(Made.init))
    }

    /// Starts a request that may leave the caller, unless it wants to stay there.
    func beginInBackground<R: Request & Sendable>(
        _ request: R,
        then deliver: @escaping Deliver<R.Model>
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        if let composition = request._composition { return await composition.begin(self, deliver) }
        if request.formattingContext == .caller {
            let veto: CacheVeto = { request.shouldCache($0, of: $1) }
            return await begin(request, .callerByChoice, veto: veto, then: deliver)
        }
        if let error = refusal { return await deliver(.failure(error)) }
        loop.launch(endedBy: stop) { [agent, deadline] in
            do {
                return Result.success(try await agent.runInBackground(request, within: deadline, isPart: true))
            } catch {
                return .failure(error)
            }
        } then: { (result: Result<Response<R.Model>, any Error>) in
            await deliver(result.map(Made.init))
        }
    }

    /// Why nothing may begin any more; `nil` when it may.
    var refusal: (any Error)? {
        if stop.isStopped || Task.isCancelled { return CancellationError() }
        guard let deadline, agent.timeline.now() >= deadline.time else { return nil }
        return NetworkError(.deadlineExceeded(deadline.limit))
    }

    /// A part of this one with a stop of its own, which must be over after `limit` at the latest.
    func inner(within limit: Duration?) -> (part: Part, stopID: Int) {
        var part = Part(agent: agent, loop: loop, stop: PartStop(), deadline: deadline, report: nil)
        if let limit {
            part.deadline = Deadline(limit, from: agent.timeline.now(), on: agent.timeline).earlier(deadline)
        }
        return (part, stop.add { [stop = part.stop] in stop.stop() })
    }
}
