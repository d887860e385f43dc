/// A request that consists of requests, such as a batch or a chain.
///
/// Only types of the library conform to it.
public protocol CompositionRequest: Request {
    /// Returns a copy with a deadline for all requests together, including waiting, formatting and closures.
    ///
    /// Each of its requests inherits the remaining time, unless its own deadline is shorter.
    func deadline(_ limit: Duration?) -> Self

    /// Returns a copy with a tag for scopes and accessories.
    func tag(_ tag: String) -> Self

    /// Returns a copy with a further accessory, inside the existing ones.
    func accessory(_ accessory: any CompositionAccessory) -> Self
}

/// How a request that consists of requests runs.
protocol Composition<Model, ResponseInBatch>: ComposedRequest {
    /// Starts the requests that can be started, and calls back exactly once with the model or the error.
    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async

    /// Throws ``NetworkError/Reason/invalidRequest(_:)`` if it has no responses to return, as a chain.
    static func checkResponses() throws

    /// Starts as ``begin(in:then:)``, and calls back with the responses in place of the model.
    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async
}

extension Composition {
    static func checkResponses() throws { throw notOneRequest }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        await deliver(.failure(Self.notOneRequest))
    }
}

extension Request {
    /// Throws ``NetworkError/Reason/invalidRequest(_:)`` if a batch cannot return a response for a request of this type.
    static func checkResponse() throws {
        guard RequestType.of(Self.self).isComposed else { return }
        try (self as? any Composition.Type)?.checkResponses()
    }
}

/// A batch or chain, with its options.
protocol DeclaredComposition: CompositionRequest, Composition {
    var options: CompositionOptions { get set }
}

/// The options of a batch or chain.
struct CompositionOptions: Sendable {
    var deadline: Duration?
    var tag = ""
    var accessories: [any CompositionAccessory] = []
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension DeclaredComposition {
    public func deadline(_ limit: Duration?) -> Self { changing { $0.deadline = limit } }
    public func tag(_ tag: String) -> Self { changing { $0.tag = tag } }
    public func accessory(_ accessory: any CompositionAccessory) -> Self {
        changing { $0.accessories.append(accessory) }
    }
    public var tag: String { options.tag }

    private func changing(_ change: (inout CompositionOptions) -> Void) -> Self {
        var copy = self
        change(&copy.options)
        return copy
    }
}

// Here and not in a file of its own, which a program that is linked from an archive would not contain: the conformances are
// looked up at run time.

extension ModifiedRequest: Composition where Base: Composition {
    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        await base.begin(in: context.modifying(changes), then: deliver)
    }

    static func checkResponses() throws { try Base.checkResponses() }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        await base.beginForResponse(in: context.modifying(changes), then: deliver)
    }
}

extension ModifiedRequest: CompositionRequest where Base: CompositionRequest {
    /// Returns a copy with a deadline for the complete batch or chain; see ``CompositionRequest/deadline(_:)``.
    public func deadline(_ limit: Duration?) -> Self { ModifiedRequest(base.deadline(limit), changes) }

    /// Returns a copy with a tag for the batch or chain; see ``CompositionRequest/tag(_:)``.
    public func tag(_ tag: String) -> Self { ModifiedRequest(base.tag(tag), changes) }

    /// Returns a copy with a further accessory of the batch or chain; see ``CompositionRequest/accessory(_:)``.
    public func accessory(_ accessory: any CompositionAccessory) -> Self {
        ModifiedRequest(base.accessory(accessory), changes)
    }
}

extension Agent {
    /// Sends the requests of a batch, and returns the response of each with its model.
    ///
    /// Each model is created where `send(_:)` creates it. The response of a request with `ignoringFailure()` is an optional, and
    /// the response of a batch within the batch has the form of that batch: a tuple, or an array.
    ///
    /// - Parameter request: The batch. A chain within it has no single response; then nothing is sent.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/invalidRequest(_:)``, or `CancellationError`.
    public func response<R: CompositionRequest>(for request: R) async throws -> R.ResponseInBatch {
        try R.checkResponse()
        return try await runComposed { context, deliver in
            await Member(staying: request).beginForResponse(context, then: deliver)
        }
    }

    /// Runs a request that consists of requests.
    ///
    /// - Parameters:
    ///   - request: The request to run.
    ///   - handle: The handle of a started send, or `nil`.
    ///   - deliver: Called with the result, between `willStop` and `didStop`.
    /// - Returns: The model.
    /// - Throws: The first error of a request, or `CancellationError`.
    func runComposed<R: Request>(
        _ request: R,
        for handle: (any StartedSend)? = nil,
        delivering deliver: (nonisolated(nonsending) (Result<Delivered<R.Model>, any Error>) async -> Void)? = nil
    ) async throws -> R.Model {
        try await runComposed(for: handle, delivering: deliver) { context, deliver in
            await context.begin(request, then: deliver)
        }
    }

    /// Runs what a closure begins, like a request that consists of requests.
    func runComposed<Model>(
        for handle: (any StartedSend)? = nil,
        delivering deliver: (nonisolated(nonsending) (Result<Delivered<Model>, any Error>) async -> Void)? = nil,
        _ begin: nonisolated(nonsending) (MemberContext, @escaping MemberContext.Deliver<Model>) async -> Void
    ) async throws -> Model {
        var result = Result<Delivered<Model>, any Error>.failure(CancellationError())
        await runLoop(for: handle) { context in
            await begin(context) { delivered in
                result = delivered
                await deliver?(delivered)
            }
        }
        return try result.get().model
    }

    /// Starts work on a loop of its own, and runs the loop until nothing is left.
    func runLoop(
        for handle: (any StartedSend)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ start: nonisolated(nonsending) (MemberContext) async -> Void
    ) async {
        let context = MemberContext(
            agent: self,
            loop: CallerLoop(),
            stop: CompositionStop(),
            deadline: nil,
            handle: handle
        )
        await withTaskCancellationHandler {
            // The capture isolates the closure, which would otherwise leave the caller.
            _ = isolation
            await start(context)
            await context.loop.run()
        } onCancel: { [stop = context.stop] in
            stop.stop()
        }
    }
}
