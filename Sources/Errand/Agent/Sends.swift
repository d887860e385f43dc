/// The sends of an agent that are under way, so that each can be ended from outside its own task.
struct Sends: Sendable {
    private let running = Lock<[Int: (context: RequestContext, stop: StopSignal)]>([:])

    /// Notes a send, or what has become known of it.
    func note(_ context: RequestContext, _ stop: StopSignal) {
        running.withLock { $0[context.id] = (context, stop) }
    }

    func forget(_ id: Int) { running.withLock { $0[id] = nil } }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for send in all where isMeant(send.context) { send.stop.stop() }
    }
}
