/// The context in which a request of a composition runs: its agent, its loop, what ends it, and its deadline.
struct Part {
    /// Called once, on the caller.
    typealias Deliver<Model> = nonisolated(nonsending) (Result<Made<Model>, any Error>) async -> Void

    let agent: Agent
    let loop: CallerLoop
    private(set) var stop: PartStop
    var deadline: Deadline?
    /// Called with each change of the progress of the outermost batch or chain; `nil` within it.
    var report: CompositionProgress.Report?
    /// The changes of a modified batch or chain, which apply to each of its requests.
    var modifications: [RequestModification] = []
    /// Whether responses are kept beside their models, for the history of a chain.
    var keepsResponses = false

    /// Starts a request that stays on the caller: it is prepared and formatted there, and sent in the background.
    func begin<R: Request>(
        _ request: R,
        _ formatting: Metrics.Formatting = .callerByNeed,
        veto: CacheVeto? = nil,
        then deliver: @escaping Deliver<R.Model>
    ) async {
        if let composition = composition(of: request) { return await composition.begin(in: self, then: deliver) }
        if !modifications.isEmpty {
            let (request, part) = modified(request)
            return await part.begin(request, formatting, veto: veto, then: deliver)
        }
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
        } then: { (fetched: Result<AcceptedResponse, any Error>) in
            switch fetched {
            case .success(let answer):
                await finish(answer, of: request, prepared, as: send, formatting, stopID, deliver)
            case .failure(let error): await end(request, as: send, throwing: error, stopID, deliver)
            }
        }
    }

    // Methods and not closures, which would leave their caller because of the capture list.

    /// Runs stages 9 to 12.
    private func finish<R: Request>(
        _ answer: AcceptedResponse,
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
            result = .success(keepsResponses ? Made(answer.response(with: model)) : Made(model))
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
        let settled: Pipeline.Settle<R.Model>? = nil
        let error = await agent.pipeline.end(send, throwing: error, settled: settled)
        stop.remove(stopID)
        await deliver(.failure(error))
    }

    /// Starts a request that may leave the caller, unless its formatting context is the caller.
    func beginInBackground<R: Request & Sendable>(
        _ request: R,
        then deliver: @escaping Deliver<R.Model>
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        if let composition = composition(of: request) { return await composition.begin(in: self, then: deliver) }
        if !modifications.isEmpty {
            let (request, part) = modified(request)
            return await part.beginInBackground(request, then: deliver)
        }
        if request.formattingContext == .caller {
            let veto: CacheVeto = { request.shouldCache($0, of: $1) }
            return await begin(request, .callerByChoice, veto: veto, then: deliver)
        }
        if let error = refusal { return await deliver(.failure(error)) }
        loop.launch(endedBy: stop) { [agent, deadline, keepsResponses] in
            do {
                let (model, answer) = try await agent.runInBackground(request, within: deadline, isPart: true)
                return Result.success(keepsResponses ? Made(answer.response(with: model)) : Made(model))
            } catch {
                return .failure(error)
            }
        } then: { (result: Result<Made<R.Model>, any Error>) in
            await deliver(result)
        }
    }

    /// The error if nothing may begin any more, otherwise `nil`.
    var refusal: (any Error)? {
        if stop.isStopped || Task.isCancelled { return CancellationError() }
        guard let deadline, agent.pipeline.timeline.now() >= deadline.time else { return nil }
        return NetworkError(.deadlineExceeded(deadline.limit))
    }

    /// Returns a request that consists of requests as a composition, or `nil` if it is sent itself.
    private func composition<R: Request>(of request: R) -> (any Composition<R.Model>)? {
        RequestType.of(R.self).isComposed ? request as? any Composition<R.Model> : nil
    }

    /// Returns this part with further changes for its requests; those of an outer batch are applied last.
    func modifying(_ inner: [RequestModification]) -> Part {
        var part = self
        part.modifications = inner + modifications
        return part
    }

    /// Returns a request with the changes of this part, and this part without them.
    private func modified<R: Request>(_ request: R) -> (ModifiedRequest<R>, Part) {
        var part = self
        part.modifications = []
        return (ModifiedRequest(request, modifications), part)
    }

    /// Returns a part of this one with a stop of its own, which ends after `limit` at the latest.
    func inner(within limit: Duration?, keepingResponses: Bool = false) -> (part: Part, stopID: Int) {
        var deadline = deadline
        if let limit {
            let timeline = agent.pipeline.timeline
            deadline = Deadline(limit, from: timeline.now(), on: timeline).earlier(deadline)
        }
        let stop = PartStop()
        var part = self
        (part.stop, part.deadline, part.report, part.keepsResponses) = (stop, deadline, nil, keepingResponses)
        return (part, self.stop.add { stop.stop() })
    }
}

/// A request of a composition, and how it starts in the background if its types allow that.
struct Member<R: Request> {
    let request: R
    private let beginInBackground:
        (nonisolated(nonsending) @Sendable (R, Part, @escaping Part.Deliver<R.Model>) async -> Void)?

    /// Creates a member that stays on its caller.
    init(staying request: R) {
        self.request = request
        beginInBackground = nil
    }

    /// Creates a member that may leave its caller.
    init(_ request: R) where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
        self.request = request
        beginInBackground = Self.backgroundStart
    }

    var typeName: String { TypeNames.name(of: R.self) }

    func begin(_ part: Part, then deliver: @escaping Part.Deliver<R.Model>) async {
        guard let beginInBackground else { return await part.begin(request, then: deliver) }
        await beginInBackground(request, part, deliver)
    }
}

extension Member: Sendable where R: Sendable {}

extension Member where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
    fileprivate static var backgroundStart:
        nonisolated(nonsending) @Sendable (R, Part, @escaping Part.Deliver<R.Model>) async -> Void
    {
        { request, part, deliver in await part.beginInBackground(request, then: deliver) }
    }
}

/// Ends a part of a composition: what is running in it, and what would begin.
///
/// Nested parts have their own, which the outer ones end too.
final class PartStop: Sendable {
    private struct State {
        var isStopped = false
        var lastID = 0
        var stops = Table<Int, @Sendable () -> Void>()
    }

    private let state = Lock(State())

    /// Whether nothing may begin any more.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends everything, and returns at once.
    func stop() {
        let stops = state.withLock { state in
            defer { (state.isStopped, state.stops) = (true, Table()) }
            return state.stops.entries.sortedUnspecialized { $0.key < $1.key }
        }
        for (_, stop) in stops { stop() }
    }

    /// Adds a function that ends something; if everything has been ended already, it is called at once.
    ///
    /// - Parameter stop: Must return at once.
    /// - Returns: The number to pass to ``remove(_:)`` once there is nothing to end any more.
    func add(_ stop: @escaping @Sendable () -> Void) -> Int {
        let (id, isStopped) = state.withLock { state in
            state.lastID += 1
            if !state.isStopped { state.stops[state.lastID] = stop }
            return (state.lastID, state.isStopped)
        }
        if isStopped { stop() }
        return id
    }

    func remove(_ id: Int) { state.withLock { $0.stops[id] = nil } }
}

extension Result {
    /// The error, or `nil` on success.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
