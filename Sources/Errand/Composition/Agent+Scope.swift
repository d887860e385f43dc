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
        return try await runComposed { part, deliver in
            handle.own { [stop = part.stop] in stop.stop() }
            await member.begin(part, then: deliver)
        }
    }
}
