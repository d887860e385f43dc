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
        let prepared: PreparedRequest
        do {
            prepared = try await agent.pipeline.prepare(request, as: send)  // 1, 2
        } catch {
            return await end(request, as: send, throwing: error, stopID, deliver)
        }
        loop.launch(endedBy: stop) { [agent] in
            do {
                return Result.success(try await agent.pipeline.response(to: prepared, veto: veto))  // 3 to 8
            } catch {
                return .failure(error)
            }
        } abandoned: { [agent] in
            await agent.pipeline.abandon(send)
        } then: { (fetched: Result<Answer, any Error>) in
            switch fetched {
            case .success(let answer):
                await finish(answer, of: request, prepared, as: send, formatting, stopID, deliver)
            case .failure(let error): await end(request, as: send, throwing: error, stopID, deliver)
            }
        }
    }

    // Methods and not closures, which a capture list would take off their caller.

    /// Stages 9 to 12.
    private func finish<R: Request>(
        _ answer: Answer,
        of request: R,
        _ prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        _ stopID: Int,
        _ deliver: Deliver<R.Model>
    ) async {
        let result: Result<Made<R.Model>, any Error>
        do {
            let (model, answer) = try await agent.pipeline.finish(
                answer,
                of: request,
                prepared,
                as: send,
                formatting
            ) { [agent] in
                try await agent.pipeline.response(to: prepared, veto: nil, insteadOf: $0)
            }
            result = .success(Made(answer.response(with: model)))
        } catch {
            result = .failure(error)
        }
        stop.remove(stopID)
        await deliver(result)
    }

    /// Stage 12 of a send that failed before.
    private func end<R: Request>(
        _ request: R,
        as send: Send,
        throwing error: any Error,
        _ stopID: Int,
        _ deliver: Deliver<R.Model>
    ) async {
        let settled: Pipeline.Settle<R.Model>? = nil
        let error = await agent.pipeline.end(send, throwing: error, settled: settled)
        stop.remove(stopID)
        await deliver(.failure(error))
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
                let (model, answer) = try await agent.runInBackground(request, within: deadline, isPart: true)
                return Result.success(Made(answer.response(with: model)))
            } catch {
                return .failure(error)
            }
        } then: { (result: Result<Made<R.Model>, any Error>) in
            await deliver(result)
        }
    }

    /// Why nothing may begin any more; `nil` when it may.
    var refusal: (any Error)? {
        if stop.isStopped || Task.isCancelled { return CancellationError() }
        guard let deadline, agent.pipeline.timeline.now() >= deadline.time else { return nil }
        return NetworkError(.deadlineExceeded(deadline.limit))
    }

    /// A part of this one with a stop of its own, which must be over after `limit` at the latest.
    func inner(within limit: Duration?) -> (part: Part, stopID: Int) {
        var part = Part(agent: agent, loop: loop, stop: PartStop(), deadline: deadline, report: nil)
        if let limit {
            part.deadline = Deadline(limit, from: agent.pipeline.timeline.now(), on: agent.pipeline.timeline).earlier(
                deadline
            )
        }
        return (part, stop.add { [stop = part.stop] in stop.stop() })
    }
}
