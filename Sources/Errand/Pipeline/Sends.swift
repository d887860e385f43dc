/// The sends of an agent that are under way, so that each can be ended from outside its own task.
struct Sends: Sendable {
    private enum Running {
        case send(Send)
        /// Fetched behind a send, where nobody waits for it.
        case behind(PreparedRequest)

        /// With its URL as soon as there is one.
        var context: RequestContext {
            switch self {
            case .send(let send): send.latestContext
            case .behind(let prepared): prepared.context
            }
        }

        var stop: StopSignal {
            switch self {
            case .send(let send): send.stop
            case .behind(let prepared): prepared.stop
            }
        }
    }

    private let running = Lock<[Int: Running]>([:])

    /// Whether none is under way.
    var isEmpty: Bool { running.withLock { $0.isEmpty } }

    /// Notes a send.
    ///
    /// What a refresh sends belongs to its session: ended from here, a spent refresh token would be lost.
    func note(_ send: Send) {
        guard !RefreshScope.isActive else { return }
        running.withLock { $0[send.id] = .send(send) }
    }

    func forget(_ send: Send) { running.withLock { $0[send.id] = nil } }

    /// Runs what nobody waits for, so that it can be ended like a send.
    func run(
        behind prepared: PreparedRequest,
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        running.withLock { $0[prepared.context.id] = .behind(prepared) }
        defer { running.withLock { $0[prepared.context.id] = nil } }
        let watch = prepared.deadline?.watch(prepared.stop)
        defer { watch?.cancel() }
        return try await work()
    }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for one in all where isMeant(one.context) { one.stop.stop() }
    }
}
