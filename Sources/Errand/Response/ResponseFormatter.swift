public import Foundation

/// Makes a model of a payload.
public protocol ResponseFormatter<Output> {
    /// What it makes.
    associatedtype Output

    /// Makes the model, where the request's ``FormattingContext`` says.
    ///
    /// - Parameter payload: What the filter found; it knows the answer's media type and charset.
    /// - Returns: The model.
    /// - Throws: What reaches the caller unchanged.
    func format(_ payload: Payload) throws -> Output

    /// Whether the payload must be JSON, so that a body that is not fails before anything is stored; `false` unless
    /// you say otherwise.
    var readsJSON: Bool { get }

    /// Whether the formatter decodes nothing that is not guarded yet; `false` unless you say otherwise, and then the
    /// JSON guard looks at the body before the formatter does.
    var guardsItself: Bool { get }
}

extension ResponseFormatter {
    /// The default: `false`, the payload may be anything.
    public var readsJSON: Bool { false }

    /// The JSON guard looks at the body before the formatter does.
    public var guardsItself: Bool { false }
}

/// A formatter of the library's own, which never blocks.
protocol OwnFormatter {}

/// What a request has that names no formatter: text for `String`, bytes for `Data`, nothing for `Void`, JSON for every
/// other `Decodable`.
public struct DefaultFormatter<Output>: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// Whether the model comes from JSON: not text, bytes or nothing.
    public var readsJSON: Bool { Output.self != String.self && Output.self != Data.self && Output.self != Void.self }

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Makes the model by the rule for its type.
    ///
    /// - Parameter payload: What the filter found.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or what the type's own `init(from:)` throws.
    public func format(_ payload: Payload) throws -> Output {
        if Output.self == Void.self, let nothing = () as? Output { return nothing }
        if Output.self == Data.self, let bytes = payload.bytes as? Output { return bytes }
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
public struct JSONFormatter<Output: Decodable>: ResponseFormatter, Sendable, OwnFormatter {
    private let path: JSONPath
    private let decoder: (any DataDecoder)?

    /// Takes a path and a decoder.
    ///
    /// - Parameters:
    ///   - path: The way from the payload to the model.
    ///   - decoder: `nil` is that of the service, else of the config.
    public init(at path: JSONPath = .payload, decoder: (any DataDecoder)? = nil) {
        self.path = path
        self.decoder = decoder
    }

    /// `true`.
    public var readsJSON: Bool { true }

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Decodes the value at the path.
    ///
    /// - Parameter payload: What the filter found.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or what the type's own `init(from:)` throws.
    public func format(_ payload: Payload) throws -> Output {
        var payload = payload
        if let decoder { payload.decoder = decoder }
        return try payload.decode(Output.self, at: path)
    }
}

/// Any JSON, as it stands.
public struct JSONValueFormatter: ResponseFormatter, Sendable, OwnFormatter {
    private let path: JSONPath

    /// Takes the way from the payload to the value; none takes the whole payload.
    public init(at path: JSONPath = .payload) { self.path = path }

    /// `true`.
    public var readsJSON: Bool { true }

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Reads the value at the path; throws ``NetworkError`` when the bytes are not JSON or the path leads nowhere.
    public func format(_ payload: Payload) throws -> JSONValue { try payload.decode(JSONValue.self, at: path) }
}

/// Text, by the charset of the answer.
public struct StringFormatter: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Reads the text; throws ``NetworkError`` when the charset is unknown or the bytes do not fit it.
    public func format(_ payload: Payload) throws -> String { try payload.text() }
}

/// The bytes.
public struct DataFormatter: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Returns the bytes; copies them only if they are a part of the body.
    public func format(_ payload: Payload) throws -> Data { payload.bytes }
}

/// Nothing: the answer only has to be accepted.
public struct VoidFormatter: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// It decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Looks at nothing.
    public func format(_ payload: Payload) throws {}
}

/// A formatter made of a closure.
public struct ClosureFormatter<Output>: ResponseFormatter, Sendable {
    private let body: @Sendable (Payload) throws -> Output

    /// Takes the closure; it is called where the request's ``FormattingContext`` says.
    public init(_ body: @escaping @Sendable (Payload) throws -> Output) { self.body = body }

    /// Calls the closure; throws what it throws.
    public func format(_ payload: Payload) throws -> Output { try body(payload) }
}
