/// A step of a chain that may be one request or another, or no request at all.
///
/// ```swift
/// let orders = chain.then { user -> ChainStep<[Order]> in user.isGuest ? .value([]) : .send(GetOrders(of: user.id)) }
/// ```
///
/// To end a chain early, put the steps that may be left out into a chain of their own: `.send(ChainRequest(…).then …)`.
public struct ChainStep<Model>: Request {
    private let composition: _Composition<Model>

    /// The step is a request that is prepared and formatted in the background.
    public static func send<R: Request & Sendable>(_ request: R) -> ChainStep
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        ChainStep(composition: _Composition { await Member(request).begin($0, then: $1) })
    }

    /// The step is a request that is prepared and formatted on the caller.
    public static func send<R: Request>(_ request: R) -> ChainStep where R.Model == Model {
        ChainStep(composition: _Composition { await $0.begin(request, then: $1) })
    }

    /// The step sends nothing: its model is there already.
    public static func value(_ model: Model) -> ChainStep {
        ChainStep(
            composition: _Composition { part, deliver in
                await deliver(part.refusal.map { .failure($0) } ?? .success(Made(model)))
            }
        )
    }

    /// Empty: what is sent is the request inside.
    public var path: String { "" }
    /// Makes nothing: the request inside does.
    public var formatter: CompositionFormatter<Model> { CompositionFormatter() }
    /// Throws: the answer belongs to the request inside.
    public func check() throws { throw NetworkError(.notOneRequest("ChainStep")) }

    /// Runs what was chosen.
    public var _composition: _Composition<Model>? { composition }
}
