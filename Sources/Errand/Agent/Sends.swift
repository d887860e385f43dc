/// The sends of an agent that are under way, so that each can be ended from outside its own task.
struct Sends: Sendable {
    private struct Running {
        /// `nil` behind a send, where nobody waits for it.
        var send: Send?
        /// `nil` until there is one; only then the context has its URL.
        var prepared: PreparedRequest?

        var context: RequestContext? { prepared?.context ?? send?.context }
        var stop: StopSignal? { prepared?.stop ?? send?.stop }
    }

    private let running = Lock<[Int: Running]>([:])

    /// Notes a send, or what has become of it.
    ///
    /// What a refresh sends belongs to its session: ended from here, a spent refresh token would be lost.
    func note(_ send: Send, _ prepared: PreparedRequest? = nil) {
        guard !RefreshScope.isActive else { return }
        running.withLock { $0[send.id] = Running(send: send, prepared: prepared) }
    }

    func forget(_ send: Send) { running.withLock { $0[send.id] = nil } }

    /// Runs what nobody waits for, so that it can be ended like a send.
    func run(
        behind prepared: PreparedRequest,
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        running.withLock { $0[prepared.context.id] = Running(prepared: prepared) }
        defer { running.withLock { $0[prepared.context.id] = nil } }
        let watch = prepared.deadline?.watch(prepared.stop)
        defer { watch?.cancel() }
        return try await work()
    }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for one in all { if let context = one.context, isMeant(context) { one.stop?.stop() } }
    }
}
