/// What batches and chains have in common: they are requests that consist of requests.
///
/// Made by the library only.
public protocol CompositionRequest: Request where Formatter == CompositionFormatter<Model> {
    /// What was said of the whole.
    var _options: _CompositionOptions { get set }
}

/// What is said of a batch or chain as a whole.
public struct _CompositionOptions: Sendable {
    var deadline: Duration?
    var tag = ""
    var accessories: [any CompositionAccessory] = []
}

extension CompositionRequest {
    /// Returns a copy that must be over in this time, waiting, formatting and closures included.
    ///
    /// Each of its requests inherits what is left of it, and keeps a deadline of its own that is shorter.
    public func deadline(_ limit: Duration?) -> Self { changing { $0.deadline = limit } }

    /// Returns a copy with a mark for scopes and accessories.
    public func tag(_ tag: String) -> Self { changing { $0.tag = tag } }

    /// Returns a copy that tells this accessory too, inside those that are there.
    public func accessory(_ accessory: any CompositionAccessory) -> Self {
        changing { $0.accessories.append(accessory) }
    }

    private func changing(_ change: (inout _CompositionOptions) -> Void) -> Self {
        var copy = self
        change(&copy._options)
        return copy
    }

    /// As ``tag(_:)`` says.
    public var tag: String { _options.tag }
    /// Empty: what consists of requests is not sent itself.
    public var path: String { "" }
    /// Makes nothing: there is no one answer.
    public var formatter: CompositionFormatter<Model> { CompositionFormatter() }
    /// Throws: there is no one answer.
    public func check() throws {
        throw NetworkError(.notOneRequest(String(TypeNames.name(of: Self.self).prefix { $0 != "<" })))
    }
}

/// The formatter of what has no answer of its own; it is never asked.
public struct CompositionFormatter<Output>: ResponseFormatter, Sendable {
    /// Throws: there is no one answer to format.
    public func format(_ payload: Payload) throws -> Output {
        throw NetworkError(.notOneRequest(String(describing: Output.self)))
    }
}
