extension Agent {
    /// Sends a request that a scope owns, and returns its model.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope, or `nil` for none.
    /// - Returns: The model.
    /// - Throws: The errors of `send(_:)`; `CancellationError` if the scope cancels its sends or is deallocated.
    public func send<R: Request & Sendable>(_ request: R, in scope: consuming RequestScope?) async throws -> R.Model
    where R.Model: Sendable, R.Formatter: Sendable {
        // Released by this: a suspended send must not keep the scope that would cancel it alive.
        let handle = RequestHandle<Void>(request, in: consume scope)
        return try await send(Member(request), owned: handle)
    }

    /// Sends a request that a scope owns, and returns its model, which is created on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope, or `nil` for none.
    /// - Returns: The model.
    /// - Throws: The errors of `send(_:)`; `CancellationError` if the scope cancels its sends or is deallocated.
    public func send<R: Request>(_ request: R, in scope: consuming RequestScope?) async throws -> R.Model {
        let handle = RequestHandle<Void>(request, in: consume scope)
        return try await send(Member(staying: request), owned: handle)
    }

    private func send<R: Request>(_ member: Member<R>, owned handle: RequestHandle<Void>) async throws -> R.Model {
        defer { handle.finish() }
        return try await runComposed { context, deliver in
            handle.own { [stop = context.stop] in stop.stop() }
            await member.begin(context, then: deliver)
        }
    }
}
