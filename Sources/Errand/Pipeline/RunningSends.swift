/// The running sends of an agent, so that each can be ended from outside its own task.
struct RunningSends: Sendable {
    private enum Running {
        case send(Send)
        /// A fetch in the background, which no caller waits for.
        case inBackground(PreparedRequest)
        /// A stream of events, which has no send between two connections.
        case reconnecting(RequestContext, StopSignal)

        /// The context, with its URL once it is known.
        var context: RequestContext {
            switch self {
            case .send(let send): send.latestContext
            case .inBackground(let prepared): prepared.context
            case .reconnecting(let context, _): context
            }
        }

        var stop: StopSignal {
            switch self {
            case .send(let send): send.stop
            case .inBackground(let prepared): prepared.stop
            case .reconnecting(_, let stop): stop
            }
        }
    }

    private let running = Lock<[Int: Running]>([:])

    /// Whether no send is running.
    var isEmpty: Bool { running.withLock { $0.isEmpty } }

    /// Records a send.
    ///
    /// The requests of a refresh belong to their session: if they were ended from here, the result of a consumed
    /// refresh token would be lost.
    func note(_ send: Send) {
        guard !RefreshScope.isActive else { return }
        running.withLock { $0[send.id] = .send(send) }
    }

    func forget(_ send: Send) { running.withLock { $0[send.id] = nil } }

    /// Runs background work so that it can be ended like a send.
    func run(
        inBackground prepared: PreparedRequest,
        _ work: @escaping @Sendable () async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        running.withLock { $0[prepared.context.id] = .inBackground(prepared) }
        defer { running.withLock { $0[prepared.context.id] = nil } }
        let watch = prepared.deadline?.watch(prepared.stop)
        defer { watch?.cancel() }
        return try await work()
    }

    /// Records a stream of events by its first send, with the context of the latest one.
    func note(reconnecting context: RequestContext, _ stop: StopSignal, firstID: Int) {
        // Its sends have entries of their own.
        running.withLock { $0[-firstID] = .reconnecting(context, stop) }
    }

    func forget(reconnecting firstID: Int) { running.withLock { $0[-firstID] = nil } }

    func cancelAll(where predicate: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for one in all where predicate(one.context) { one.stop.stop() }
    }
}
