/// A request whose model is `nil` if it fails.
///
/// It is created by `ignoringFailure()`. If the batch that contains it is cancelled or fails, it is cancelled as any
/// other: after ``Agent/cancelAll()`` the batch throws `CancellationError`. If only this request is cancelled, as by
/// ``Agent/cancelAll(where:)``, its model is `nil`.
public struct IgnoringFailure<Base: Request>: Composition {
    /// The model, or `nil` if the request failed.
    public typealias Model = Base.Model?
    /// The response, or `nil` if the request failed.
    public typealias ResponseInBatch = Base.ResponseInBatch?

    private let member: Member<Base>

    init(_ member: Member<Base>) { self.member = member }

    /// The tag of the request.
    public var tag: String { member.request.tag }
    /// The path of the request.
    public var path: String { member.request.path }

    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        await member.begin(context) { await deliver(ignoringFailure(of: $0, in: context)) }
    }

    static func checkResponses() throws { try Base.checkResponse() }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        await member.beginForResponse(context) { await deliver(ignoringFailure(of: $0, in: context)) }
    }

    private func ignoringFailure<Value>(
        of result: Result<Delivered<Value>, any Error>,
        in context: MemberContext
    ) -> Result<Delivered<Value?>, any Error> {
        switch result {
        case .success(let delivered): .success(Delivered(delivered.model))
        case .failure(is CancellationError) where context.stop.isStopped: .failure(CancellationError())
        // The failure of the composition.
        case .failure(let error as NetworkError) where error.reason == context.deadline?.error.reason: .failure(error)
        case .failure: .success(Delivered(nil))
        }
    }
}

extension IgnoringFailure: Sendable where Base: Sendable {}

extension Request {
    /// Returns this request as one whose model is `nil` if it fails, so that a batch or chain continues.
    public func ignoringFailure() -> IgnoringFailure<Self>
    where Self: Sendable, Model: Sendable, Formatter: Sendable {
        IgnoringFailure(Member(self))
    }

    /// Returns this request as one whose model is `nil` if it fails, so that a batch or chain continues.
    public func ignoringFailure() -> IgnoringFailure<Self> { IgnoringFailure(Member(staying: self)) }
}
