/// The sends of an agent that are under way, so that each can be ended from outside its own task.
struct Sends: Sendable {
    private struct Running {
        let send: Send
        /// `nil` until there is one; only then the context has its URL.
        var prepared: PreparedRequest?

        var context: RequestContext { prepared?.context ?? send.context }
    }

    private let running = Lock<[Int: Running]>([:])

    /// Notes a send, or what has become of it.
    func note(_ send: Send, _ prepared: PreparedRequest? = nil) {
        running.withLock { $0[send.id] = Running(send: send, prepared: prepared) }
    }

    func forget(_ send: Send) { running.withLock { $0[send.id] = nil } }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for one in all where isMeant(one.context) { one.send.stop.stop() }
    }
}
