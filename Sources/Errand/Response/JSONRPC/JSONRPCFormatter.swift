/// A formatter that decodes the result of a call from its JSON, also for a `String`, and reads nothing for `Void`.
public struct JSONRPCFormatter<Output>: ResponseFormatter, Sendable, OwnFormatter {
    /// Creates the formatter.
    public init() {}

    /// `true`.
    public var readsJSON: Bool { true }

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Decodes the result.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
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
