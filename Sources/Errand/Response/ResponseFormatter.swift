public import Foundation

/// Makes a model of a payload.
public protocol ResponseFormatter<Output> {
    associatedtype Output

    /// Makes the model, where the request's ``FormattingContext`` says.
    ///
    /// - Parameter payload: What the filter found; it knows the answer's media type and charset.
    /// - Throws: What reaches the caller unchanged.
    func format(_ payload: Payload) throws -> Output

    /// Whether the payload must be JSON, so that a body that is not fails before anything is stored; `false` unless
    /// you say otherwise.
    var readsJSON: Bool { get }
}

extension ResponseFormatter {
    public var readsJSON: Bool { false }
}

/// A formatter of the library's own: where it reads no JSON, it decodes nothing.
protocol SelfGuardingFormatter: ResponseFormatter {}

/// What a request has that names no formatter: text for `String`, bytes for `Data`, nothing for `Void`, JSON for every
/// other `Decodable`.
public struct DefaultFormatter<Output>: SelfGuardingFormatter, Sendable {
    public init() {}

    public var readsJSON: Bool { Output.self != String.self && Output.self != Data.self && Output.self != Void.self }

    public func format(_ payload: Payload) throws -> Output {
        if Output.self == Void.self, let nothing = () as? Output { return nothing }
        if Output.self == Data.self, let bytes = Data(payload.data) as? Output { return bytes }
        if Output.self == String.self, let text = try payload.text() as? Output { return text }
        guard let type = Output.self as? any Decodable.Type, let model = try payload.decode(type) as? Output else {
            throw NetworkError(
                .unsupportedModel("\(Output.self) is not Decodable where it is formatted; give the request a formatter")
            )
        }
        return model
    }
}

/// JSON, at a path or as a whole, through a decoder.
///
/// Spelling in a request: `var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }`.
public struct JSONFormatter<Output: Decodable>: SelfGuardingFormatter, Sendable {
    private let path: JSONPath
    private let decoder: (any DataDecoder)?

    /// - Parameters:
    ///   - path: The way from the payload to the model.
    ///   - decoder: `nil` is that of the service, else of the config.
    public init(at path: JSONPath = .payload, decoder: (any DataDecoder)? = nil) {
        self.path = path
        self.decoder = decoder
    }

    public var readsJSON: Bool { true }

    public func format(_ payload: Payload) throws -> Output {
        var payload = payload
        if let decoder { payload.decoder = decoder }
        return try payload.decode(Output.self, at: path)
    }
}

/// Any JSON, as it stands.
public struct JSONValueFormatter: SelfGuardingFormatter, Sendable {
    private let path: JSONPath

    public init(at path: JSONPath = .payload) { self.path = path }

    public var readsJSON: Bool { true }

    public func format(_ payload: Payload) throws -> JSONValue { try payload.decode(JSONValue.self, at: path) }
}

/// Text, by the charset of the answer.
public struct StringFormatter: SelfGuardingFormatter, Sendable {
    public init() {}
    public func format(_ payload: Payload) throws -> String { try payload.text() }
}

/// The bytes.
public struct DataFormatter: SelfGuardingFormatter, Sendable {
    public init() {}
    public func format(_ payload: Payload) throws -> Data { Data(payload.data) }
}

/// Nothing: the answer only has to be accepted.
public struct VoidFormatter: SelfGuardingFormatter, Sendable {
    public init() {}
    public func format(_ payload: Payload) throws {}
}

/// A formatter made of a closure.
public struct ClosureFormatter<Output>: ResponseFormatter, Sendable {
    private let body: @Sendable (Payload) throws -> Output

    public init(_ body: @escaping @Sendable (Payload) throws -> Output) { self.body = body }

    public func format(_ payload: Payload) throws -> Output { try body(payload) }
}
