/// A request whose failure does not matter: it yields an optional.
///
/// Made by `ignoringFailure()`. When the batch around it is cancelled or fails, it is cancelled like every other.
public struct IgnoringFailure<Base: Request>: Request {
    /// The model, or `nil` when the request failed.
    public typealias Model = Base.Model?

    private let member: Member<Base>

    init(_ member: Member<Base>) { self.member = member }

    /// As in the request.
    public var tag: String { member.request.tag }
    /// As in the request.
    public var path: String { member.request.path }
    /// Makes nothing: the request's own does.
    public var formatter: CompositionFormatter<Model> { CompositionFormatter() }
    /// Throws: the answer belongs to the request inside.
    public func check() throws { throw NetworkError(.notOneRequest("IgnoringFailure")) }

    /// Runs the request, and takes any failure of its own for no model.
    public var _composition: _Composition<Model>? {
        _Composition { part, deliver in
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
}

extension IgnoringFailure: Sendable where Base: Sendable {}

extension Request {
    /// Returns this request as one whose model is `nil` when it fails, so that a batch or chain goes on.
    public func ignoringFailure() -> IgnoringFailure<Self>
    where Self: Sendable, Model: Sendable, Formatter: Sendable {
        IgnoringFailure(Member(self))
    }

    /// Returns this request as one whose model is `nil` when it fails, so that a batch or chain goes on.
    public func ignoringFailure() -> IgnoringFailure<Self> { IgnoringFailure(Member(staying: self)) }
}
