/// A request whose model is `nil` if it fails.
///
/// It is created by `ignoringFailure()`. If the batch that contains it is cancelled or fails, it is cancelled as any
/// other.
public struct IgnoringFailure<Base: Request>: Composition {
    /// The model, or `nil` if the request failed.
    public typealias Model = Base.Model?

    private let member: Member<Base>

    init(_ member: Member<Base>) { self.member = member }

    /// The tag of the request.
    public var tag: String { member.request.tag }
    /// The path of the request.
    public var path: String { member.request.path }

    func begin(in part: Part, then deliver: @escaping Part.Deliver<Model>) async {
        await member.begin(part) { made in
            switch made {
            case .success(let made): await deliver(.success(Made(made.model)))
            case .failure(is CancellationError) where part.stop.isStopped:
                await deliver(.failure(CancellationError()))
            case .failure: await deliver(.success(Made(nil)))
            }
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
