/// The context in which a request of a composition runs: its agent, its loop, its stop, and its deadline.
struct MemberContext {
    /// Called once, on the caller.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Delivered<Model>, any Error>) async -> Void

    let agent: Agent
    let loop: CallerLoop
    private(set) var stop: CompositionStop
    var deadline: Deadline?
    /// The deadline of the innermost batch or chain itself, or `nil` if it has none of its own.
    private(set) var ownDeadline: Deadline?
    /// Whether its requests are parts of a batch or chain.
    private(set) var isComposed = false
    /// The handle of the outermost batch or chain; `nil` within it.
    var handle: (any StartedSend)?
    /// The changes of a modified batch or chain, which apply to each of its requests.
    private(set) var changes = RequestChanges.none
    /// Whether responses are kept beside their models, for the history of a chain or the responses of a batch.
    var keepsResponses = false
    /// The sequence of the innermost chain, batch or list of results.
    var sequence: SendSequence?

    /// Starts a request that stays on the caller: it is prepared and formatted there, and sent in the background.
    func begin<R: Request>(
        _ request: R,
        _ formatting: Metrics.Formatting = .callerByNeed,
        veto: CacheVeto? = nil,
        then deliver: @escaping Deliver<R.Model>
    ) async {
        if let composition = composition(of: request) { return await composition.begin(in: self, then: deliver) }
        if !changes.value.modifications.isEmpty {
            let (request, context) = modified(request)
            return await context.begin(request, formatting, veto: veto, then: deliver)
        }
        if let error = stopError { return await deliver(.failure(error)) }
        let send = agent.makeSend(request, within: deadline, isMember: isComposed, in: sequence)
        let stopID = stop.add { reason in
            // An overdue request has not been cancelled.
            if case .overdue = reason { send.stop.stop(.deadline) } else { send.stop.stop() }
        }
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
            _ = await agent.pipeline.end(send, throwing: CancellationError())
        } overdue: { error in
            stop.remove(stopID)
            await deliver(.failure(error))
        } then: { (fetched: Result<AcceptedResponse, any Error>) in
            switch fetched {
            case .success(let accepted):
                await finish(accepted, of: request, prepared, as: send, formatting, stopID, deliver)
            case .failure(let error): await end(request, as: send, throwing: error, stopID, deliver)
            }
        }
    }

    // Methods and not closures, which would leave their caller because of the capture list.

    /// Runs stages 9 to 12.
    private func finish<R: Request>(
        _ accepted: AcceptedResponse,
        of request: R,
        _ prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        _ stopID: Int,
        _ deliver: Deliver<R.Model>
    ) async {
        let result: Result<Delivered<R.Model>, any Error>
        do {
            let (model, accepted) = try await agent.pipeline.finish(
                accepted,
                of: request,
                prepared,
                as: send,
                formatting
            ) { [agent] in
                try await agent.pipeline.response(to: prepared, veto: nil, insteadOf: $0)
            }
            result = .success(keepsResponses ? Delivered(Response(model: model, of: accepted)) : Delivered(model))
        } catch {
            result = .failure(error)
        }
        stop.remove(stopID)
        await deliver(result)
    }

    /// Runs stage 12 of a send that failed before.
    private func end<R: Request>(
        _ request: R,
        as send: Send,
        throwing error: any Error,
        _ stopID: Int,
        _ deliver: Deliver<R.Model>
    ) async {
        let error = await agent.pipeline.end(send, throwing: error)
        stop.remove(stopID)
        await deliver(.failure(error))
    }

    /// Starts a request that may leave the caller, unless its formatting context is the caller.
    func beginInBackground<R: Request & Sendable>(
        _ request: R,
        then deliver: @escaping Deliver<R.Model>
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        if let composition = composition(of: request) { return await composition.begin(in: self, then: deliver) }
        if !changes.value.modifications.isEmpty {
            let (request, context) = modified(request)
            return await context.beginInBackground(request, then: deliver)
        }
        if request.formattingContext == .caller {
            let veto: CacheVeto = { request.shouldCache($0, of: $1) }
            return await begin(request, .callerByChoice, veto: veto, then: deliver)
        }
        if let error = stopError { return await deliver(.failure(error)) }
        loop.launch(endedBy: stop) { [agent, deadline, isComposed, keepsResponses, sequence] in
            do {
                let (model, accepted) = try await agent.runInBackground(
                    request,
                    within: deadline,
                    isMember: isComposed,
                    in: sequence
                )
                return Result.success(
                    keepsResponses ? Delivered(Response(model: model, of: accepted)) : Delivered(model)
                )
            } catch {
                return .failure(error)
            }
        } overdue: { error in
            await deliver(.failure(error))
        } then: { (result: Result<Delivered<R.Model>, any Error>) in
            await deliver(result)
        }
    }

    /// The error if nothing may begin any more, otherwise `nil`.
    var stopError: (any Error)? {
        if let error = stop.error { return error }
        if Task.isCancelled { return CancellationError() }
        guard let deadline, agent.pipeline.timeline.now() >= deadline.time else { return nil }
        return deadline.error
    }

    /// Returns a request that consists of requests as a composition, or `nil` if it is sent itself.
    func composition<R: Request>(of request: R) -> (any Composition<R.Model, R.ResponseInBatch>)? {
        RequestType.of(R.self).isComposed ? request as? any Composition<R.Model, R.ResponseInBatch> : nil
    }

    /// Returns this context with further changes for its requests; changes of an outer batch are applied last.
    func modifying(_ inner: Shared<RequestChanges>) -> MemberContext {
        var context = self
        context.changes = inner
        for modification in changes.value.modifications { context.changes.value.append(modification) }
        return context
    }

    /// Returns a request with the changes of this context, and this context without them.
    private func modified<R: Request>(_ request: R) -> (ModifiedRequest<R>, MemberContext) {
        var context = self
        context.changes = RequestChanges.none
        return (ModifiedRequest(request, changes), context)
    }

    /// Returns this context for many requests with a result of its own for each.
    func ofMany() -> MemberContext {
        var context = self
        context.sequence = SendSequence("results", in: sequence, agent.pipeline.sends) { [stop] in stop.stop() }
        return context
    }

    /// Returns a context inside this one with a stop of its own, which ends after `limit` at the latest.
    func inner(within limit: Duration?, keepingResponses: Bool = false) -> (context: MemberContext, stopID: Int) {
        let timeline = agent.pipeline.timeline
        let own = limit.map { Deadline($0, from: timeline.now(), on: timeline, isOfComposition: true) }
        let stop = CompositionStop()
        var context = self
        (context.stop, context.handle) = (stop, nil)
        (context.ownDeadline, context.deadline) = (own, own?.earlier(deadline) ?? deadline)
        (context.isComposed, context.keepsResponses) = (true, keepingResponses)
        return (context, self.stop.add { stop.stop($0) })
    }
}
