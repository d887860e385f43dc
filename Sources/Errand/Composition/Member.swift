/// A request of a composition, and how it starts in the background if its types allow that.
struct Member<R: Request> {
    let request: R
    private let beginInBackground:
        (nonisolated(nonsending) @Sendable (R, MemberContext, @escaping MemberContext.Deliver<R.Model>) async -> Void)?

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

    func begin(_ context: MemberContext, then deliver: @escaping MemberContext.Deliver<R.Model>) async {
        guard let beginInBackground else { return await context.begin(request, then: deliver) }
        await beginInBackground(request, context, deliver)
    }

    /// Starts the request as ``begin(_:then:)``, and calls back with its response in place of the model.
    func beginForResponse(
        _ context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<R.ResponseInBatch>
    ) async {
        if let composition = context.composition(of: request) {
            return await composition.beginForResponse(in: context, then: deliver)
        }
        var context = context
        context.keepsResponses = true
        await begin(context) { delivered in
            await deliver(
                Result {
                    guard let response = try delivered.get().response as? R.ResponseInBatch else {
                        throw NetworkError(.notOneRequest(typeName))
                    }
                    return Delivered(response)
                }
            )
        }
    }
}

extension Member: Sendable where R: Sendable {}

extension Member where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
    fileprivate static var backgroundStart:
        nonisolated(nonsending) @Sendable (R, MemberContext, @escaping MemberContext.Deliver<R.Model>) async -> Void
    {
        { request, context, deliver in await context.beginInBackground(request, then: deliver) }
    }
}

extension Result {
    /// The error, or `nil` on success.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

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
