/// Makes a model of the result of a call: of its JSON, also for a `String`, and nothing for `Void`.
public struct JSONRPCFormatter<Output>: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// `true`.
    public var readsJSON: Bool { true }

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Decodes the result.
    ///
    /// - Parameter payload: What the filter found.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or what the type's own `init(from:)` throws.
    public func format(_ payload: Payload) throws -> Output {
        if Output.self == Void.self, let nothing = () as? Output { return nothing }
        guard let type = Output.self as? any Decodable.Type, let model = try payload.decode(type) as? Output else {
            throw NetworkError(
                .unsupportedModel("\(Output.self) is not Decodable where it is formatted; give the request a formatter")
            )
        }
        return model
    }
}
