/// The second half of stage 5: minimum intervals and duplicates.
///
/// An in-flight fetch is one run of stages 6 to 8, in a task that it owns. It ends by itself, when the last subscriber
/// leaves, or when a newer send replaces it. Each subscriber receives its events in a task of its own, until it is
/// cancelled or its deadline has expired.
final class InFlightFetches: Sendable {
    private let timeline: Timeline
    private let table = Lock(InFlightTable())
    private let filters = FilterIdentities()
    /// The types of interceptors without a scope that have made a response that of an unknown user: they may again.
    private let untrustedHooks = Lock<Set<String>>([])

    init(timeline: Timeline) { self.timeline = timeline }

    /// The number of sends that wait for in-flight fetches.
    var waiterCount: Int { table.withLock { $0.fetches.values.reduce(0) { $0 + $1.subscribers.count } } }
    /// The number of in-flight fetches.
    var count: Int { table.withLock { $0.fetches.count } }

    /// Fetches, alone or in a shared fetch; `isPassing` is whether the send must not wait for permits.
    func run(
        _ prepared: PreparedRequest,
        isPassing: Bool,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        var policy = prepared.duplicatePolicy
        let interval = prepared.resolved.minimumInterval.value
        guard policy != .allow || interval != nil,
            let key = DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: isPassing, filters: filters)
        else { return try await fetch(prepared) }
        if policy == .share, !key.isShareable || prepared.hasInterceptor(of: untrustedHooks.withLock { $0 }) {
            policy = .allow
        }
        let now = timeline.now()
        let subscriber = InFlightSubscriber(receivesEvents: !prepared.accessories.isEmpty, of: prepared.stop)
        let hasFile = prepared.receiver?.isStream == false
        let step = table.withLock { [policy] in
            $0.enter(
                key,
                policy,
                sendID: prepared.context.id,
                subscriber: subscriber,
                interval: interval,
                hasFile: hasFile,
                at: now
            )
        }
        switch step {
        case .alone: return try await fetch(prepared)
        case .reject(let reason):
            throw NetworkError(reason).with(url: prepared.outgoing.url, method: prepared.outgoing.method)
        case .join(let id): return try await wait(in: subscriber, for: key, id, as: prepared, isStarter: false, fetch)
        case .start(let own, let previous):
            previous?.task?.cancel()
            for subscriber in previous?.subscribers.values ?? [] { subscriber.supersede() }
            start(own, key, subscriber, isPassing: isPassing, prepared, after: previous?.begun, fetch)
            return try await wait(in: subscriber, for: key, own.id, as: prepared, isStarter: true, fetch)
        }
    }

    private func start(
        _ own: InFlightTable.Fetch,
        _ key: DuplicateKey,
        _ starter: InFlightSubscriber,
        isPassing: Bool,
        _ prepared: PreparedRequest,
        after previous: Delivery<Task<Void, Never>>?,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) {
        let (id, hasFile) = (own.id, own.hasFile)
        let prepared = prepared.inFlight(notifying: Relay(fetches: self, key: key, id: id), isPassing: isPassing)
        let task = Task {
            // The one that it replaces or follows may still have the file.
            if hasFile { await previous?.value().value }
            let result: Result<AcceptedResponse, any Error>
            do {
                // Code of the user's own that is deaf to its cancellation must not keep its permit, or its file.
                result = .success(try await prepared.stop.run { try await fetch(prepared) })
            } catch {
                result = .failure(error)
            }
            // If what was sent differs from what was identified, it may be another user's: only the starter gets it.
            let isShared = prepared.mayShare(result)
            let changedBy = prepared.identityCheck?.changedBy ?? []
            if !changedBy.isEmpty { untrustedHooks.withLock { $0.formUnion(changedBy) } }
            let subscribers = table.withLock { $0.end(key, id) }
            if hasFile, subscribers.isEmpty {
                prepared.receiver?.end()
                table.withLock { $0.didReleaseFile(key, id) }
            }
            for subscriber in subscribers {
                if isShared || subscriber === starter {
                    subscriber.end(with: result)
                } else {
                    subscriber.endWithoutResult()
                }
            }
        }
        own.begun.deliver(task)
        // If no send waits any more, the task is cancelled; if the fetch has ended, that has no effect.
        if !table.withLock({ $0.own(task, key, id) }) { task.cancel() }
    }

    private func wait(
        in subscriber: InFlightSubscriber,
        for key: DuplicateKey,
        _ id: Int,
        as prepared: PreparedRequest,
        isStarter: Bool,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        try await withTaskCancellationHandler {
            while true {
                switch await subscriber.next() {
                case .superseded:
                    prepared.stop.note(.superseded)
                    throw CancellationError()
                case .ended(let result):
                    // The fetch of another send: its adapters may have added nothing, those of this send may.
                    if !isStarter, prepared.hasUndeclaredAdapter {
                        _ = try await prepared.previewed()
                        if prepared.isUnidentified { return try await fetch(prepared) }
                    }
                    var accepted = try result.get()
                    accepted.payload.decoding = prepared.decoding
                    return accepted
                case .notShared: return try await fetch(prepared)
                case .event(let event, let attempt):
                    var context = prepared.context
                    context.attempt = attempt
                    await prepared.accessories.notify(event, of: context)
                }
            }
        } onCancel: {
            let abandoned = table.withLock { $0.leave(key, id, subscriber) }
            subscriber.cancel()
            abandoned?.cancel()
        }
    }

    /// Passes the events of a fetch to all its subscribers.
    private struct Relay: SmallBodyObserver {
        let fetches: InFlightFetches
        let key: DuplicateKey
        let id: Int

        func request(_ context: RequestContext, did event: AccessoryEvent) {
            for subscriber in fetches.table.withLock({ $0.subscribers(key, id) }) {
                subscriber.notify(event, attempt: context.attempt)
            }
        }
    }
}

extension PreparedRequest {
    /// Returns the request as a fetch sends it: events go to all subscribers, and no subscriber's deadline ends a fetch
    /// that can have several.
    fileprivate func inFlight(notifying accessory: some Accessory, isPassing: Bool) -> PreparedRequest {
        let deadline = duplicatePolicy == .share ? nil : deadline
        return PreparedRequest(
            self,
            notifying: AccessoryChain([accessory]),
            deadline: deadline,
            isPassing: isPassing
        )
    }
}
