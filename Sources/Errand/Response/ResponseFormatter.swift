public import Foundation

/// A type that creates a model from a payload.
public protocol ResponseFormatter<Output> {
    /// The type of the model.
    associatedtype Output

    /// Creates the model, in the request's ``FormattingContext``.
    ///
    /// - Parameter payload: The output of the filter, with the response's media type and charset.
    /// - Returns: The model.
    /// - Throws: An error that reaches the caller unchanged.
    func format(_ payload: Payload) throws -> Output

    /// Whether the payload must be JSON; `false` by default.
    ///
    /// If it is `true`, a body that is not JSON fails before anything is stored.
    var readsJSON: Bool { get }

    /// Whether the formatter decodes only what is guarded; `false` by default.
    ///
    /// If it is `false`, the JSON guard checks the body before the formatter.
    var guardsItself: Bool { get }
}

extension ResponseFormatter {
    /// The default: `false`, so the payload need not be JSON.
    public var readsJSON: Bool { false }

    /// The default: `false`, so the JSON guard checks the body before the formatter.
    public var guardsItself: Bool { false }
}

/// The formatter of requests that declare none: text for `String`, bytes for `Data`, nothing for `Void`, JSON for every
/// other `Decodable` type.
///
/// The conformance to `Decodable` is found at run time. If it is isolated to an actor, use ``DecodableFormatter``, with which
/// the compiler ensures that the model is created there.
public struct DefaultFormatter<Output>: ResponseFormatter, Sendable {
    /// Creates the formatter.
    public init() {}

    /// Whether the model is decoded from JSON, unlike text, bytes and `Void`.
    public var readsJSON: Bool { Output.self != String.self && Output.self != Data.self && Output.self != Void.self }

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Creates the model by the rule for its type.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
    public func format(_ payload: Payload) throws -> Output {
        // Both are one type, and a cast takes longer than all other work on the bytes.
        if Output.self == Data.self { return unsafeBitCast(payload.bytes, to: Output.self) }
        return try formatted(payload)
    }

    @inline(never)
    private func formatted(_ payload: Payload) throws -> Output {
        if Output.self == Void.self, let nothing = () as? Output { return nothing }
        if Output.self == String.self, let text = try payload.text() as? Output { return text }
        guard let type = Output.self as? any Decodable.Type, let model = try payload.decode(type) as? Output else {
            throw NetworkError(.unsupportedModel(Output.self))
        }
        return model
    }
}

/// A formatter that decodes JSON: the complete payload, or the value at a path.
///
/// In a request, write `var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }`.
public struct JSONFormatter<Output: Decodable>: ResponseFormatter, Sendable, PathFormatter {
    let path: JSONPath
    let decoder: (any DataDecoder)?

    /// Creates a formatter.
    ///
    /// - Parameters:
    ///   - path: The path from the payload to the model; the complete payload by default.
    ///   - decoder: The decoder, or `nil` for the service's, then the config's.
    public init(at path: JSONPath = .payload, decoder: (any DataDecoder)? = nil) {
        (self.path, self.decoder) = (path, decoder)
    }

    /// `true`.
    public var readsJSON: Bool { true }

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Decodes the value at the path.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
    public func format(_ payload: Payload) throws -> Output {
        var payload = payload
        if let decoder { payload.decoder = decoder }
        return try payload.decode(Output.self, at: path)
    }
}

/// A formatter that returns any JSON unchanged: the complete payload, or the value at a path.
public typealias JSONValueFormatter = JSONFormatter<JSONValue>

/// A formatter that applies the rule of ``DefaultFormatter`` to a `Decodable` type, or decodes JSON at a path.
///
/// If the type's conformance to `Decodable` is isolated to an actor, the request is formatted on its caller.
public struct DecodableFormatter<Output: Decodable>: ResponseFormatter, Sendable, PathFormatter {
    let path: JSONPath
    var decoder: (any DataDecoder)? { nil }

    /// Creates a formatter.
    ///
    /// - Parameter path: The path from the payload to the model; by default the complete payload, which is text for `String`
    ///   and bytes for `Data`.
    public init(at path: JSONPath = .payload) { self.path = path }

    /// Whether the model is decoded from JSON, unlike text and bytes.
    public var readsJSON: Bool { path != .payload || DefaultFormatter<Output>().readsJSON }

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Creates the model by the rule for its type, or decodes the value at the path.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
    public func format(_ payload: Payload) throws -> Output {
        path == .payload ? try DefaultFormatter().format(payload) : try payload.decode(Output.self, at: path)
    }
}

/// A formatter that returns text in the response's charset, or throws ``NetworkError`` if the charset is unknown or the bytes are
/// not valid in it.
public typealias StringFormatter = DecodableFormatter<String>

/// A formatter that returns the bytes, which are copied only if they are a part of the body.
public typealias DataFormatter = DecodableFormatter<Data>

/// A formatter that returns nothing; the response only has to be accepted.
public struct VoidFormatter: ResponseFormatter, Sendable {
    /// Creates the formatter.
    public init() {}

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Returns without reading the payload.
    public func format(_ payload: Payload) throws {}
}

/// A formatter that calls a closure.
public struct ClosureFormatter<Output>: ResponseFormatter, Sendable {
    private let body: @Sendable (Payload) throws -> Output

    /// Creates a formatter from a closure, which is called in the request's ``FormattingContext``.
    public init(_ body: @escaping @Sendable (Payload) throws -> Output) { self.body = body }

    /// Calls the closure and rethrows its error.
    public func format(_ payload: Payload) throws -> Output { try body(payload) }
}
