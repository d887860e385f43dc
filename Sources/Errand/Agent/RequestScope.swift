/// Owns sends that belong together, such as those of one screen: when it goes away they end in silence.
public final class RequestScope: Sendable {
    private let handles = Lock<[ObjectIdentifier: RequestHandle]>([:])

    /// A scope that owns nothing yet.
    public init() {}

    deinit { for handle in handles.withLock({ Array($0.values) }) { handle.abandon() } }

    /// Ends every send of the scope; each callback is called once with `CancellationError`.
    public func cancelAll() { for handle in handles.withLock({ Array($0.values) }) { handle.cancel() } }

    /// Ends the sends of the scope with a ``Request/tag``, so that the next one takes their place: a search while its
    /// text is typed.
    ///
    /// Each callback is called once with `CancellationError`. A send that starts after this call is not meant.
    public func cancelPrevious(tag: String) {
        let meant = handles.withLock { handles in handles.values.filter { $0.tag == tag } }
        for handle in meant { handle.cancel() }
    }

    /// How many sends of the scope are under way.
    public var count: Int { handles.withLock { $0.count } }

    func add(_ handle: RequestHandle) {
        handles.withLock { $0[ObjectIdentifier(handle)] = handle }
        // A send that ended before it was added would stay for good.
        if handle.isFinished { remove(handle) }
    }

    func remove(_ handle: RequestHandle) { handles.withLock { $0[ObjectIdentifier(handle)] = nil } }
}

extension Agent {
    /// Sends a request that a scope owns, and returns its model.
    ///
    /// - Throws: What `send(_:)` throws; `CancellationError` when the scope is told so or goes away.
    public func send<R: Request & Sendable>(_ request: R, in scope: consuming RequestScope) async throws -> R.Model
    where R.Model: Sendable, R.Formatter: Sendable {
        let handle = RequestHandle(request)
        let forget = Self.own(handle, by: consume scope)
        return try await send(Member(request), owned: handle, forget: forget)
    }

    /// Sends a request that a scope owns, and returns its model, which is made on the caller's actor.
    ///
    /// - Throws: What `send(_:)` throws; `CancellationError` when the scope is told so or goes away.
    public func send<R: Request>(_ request: R, in scope: consuming RequestScope) async throws -> R.Model {
        let handle = RequestHandle(request)
        let forget = Self.own(handle, by: consume scope)
        return try await send(Member(staying: request), owned: handle, forget: forget)
    }

    /// Lets a scope own a handle, and lets go of the scope: a suspended send must not keep alive what would end it.
    private static func own(_ handle: RequestHandle, by scope: consuming RequestScope) -> () -> Void {
        scope.add(handle)
        return { [weak scope] in scope?.remove(handle) }
    }

    private func send<R: Request>(
        _ member: Member<R>,
        owned handle: RequestHandle,
        forget: () -> Void
    ) async throws -> R.Model {
        defer {
            handle.finish()
            forget()
        }
        return try await run(
            _Composition<R.Model> { part, deliver in
                handle.own { [stop = part.stop] in stop.stop() }
                await member.begin(part, then: deliver)
            }
        )
    }
}
