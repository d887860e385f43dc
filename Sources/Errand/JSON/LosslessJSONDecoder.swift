public import Foundation

/// A decoder for services with inconsistent types, which converts values only if nothing is lost.
///
/// ```swift
/// var decoder = LosslessJSONDecoder()
/// decoder.convertsScalars = true      // "12" for an Int, 12 for a String
/// decoder.keys = .snakeCase
/// config.decoder = decoder            // or a Service's, or JSONFormatter(decoder: decoder)
/// ```
///
/// Integers are exact: `1.0` is 1; `1.5` and numbers out of range are errors. Every digit of a `Decimal`, a
/// ``JSONNumber`` and a ``JSONValue`` is kept.
///
/// A `Decoder` or container that `init(from:)` keeps is of use afterwards, to one thread at a time.
public struct LosslessJSONDecoder: Sendable {
    /// The format of dates; ISO 8601 by default.
    public var dates: JSONDateStrategy = .iso8601

    /// The format of `Data`; Base64 by default.
    public var data: JSONDataStrategy = .base64

    /// The texts that are decoded as infinite numbers and NaN; `nil` accepts none.
    public var floats: JSONFloatNames?

    /// How the names of members are mapped to properties; a `[String: T]` keeps its names.
    public var keys: JSONKeyStrategy = .asWritten

    /// Whether members that are null are treated as absent, at every depth; array elements are kept.
    public var dropsNulls = false

    /// Whether scalars of another type are converted to the requested one; `false` by default.
    ///
    /// | requested | also accepted |
    /// |---|---|
    /// | a number | a string that is exactly a JSON number |
    /// | `String` | a number, as written; `true` and `false` |
    /// | `Bool` | `0`, `1`, and the strings `0`, `1`, `true`, `false` in any case |
    /// | `Date` in seconds or milliseconds | a string that is exactly a JSON number |
    public var convertsScalars = false

    /// Whether a string is parsed as JSON if an object or an array is requested; `false` by default.
    public var readsJSONInStrings = false

    /// The user info that is passed to the type's `init(from:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a decoder that converts nothing.
    public init() {}

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: JSON, as UTF-8.
    /// - Returns: The value.
    /// - Throws: ``JSONError`` if the bytes are not JSON, `DecodingError`, or an error of `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        try decode(type, from: data, maximumDepth: JSONDepth.standard)
    }

    /// Decodes a value that has already been parsed.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - value: The value.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, or an error of `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        try decode(type, from: value.data, maximumDepth: JSONDepth.maximum)
    }

    /// Decodes a value, and notes which members are read, unless it fails.
    package func decode<T: Decodable>(
        _ type: T.Type,
        from data: Data,
        maximumDepth: Int = JSONDepth.standard,
        noting reads: JSONReads? = nil,
        after before: Data? = nil
    ) throws -> T {
        let indexed = try JSONIndexed.make(data, maximumDepth: maximumDepth)
        return try decode(type, 0, of: indexed, noting: reads, after: before) ?? { throw JSONError(.unexpectedEnd) }()
    }

    /// Decodes a value of a text, or returns `nil` if another decoding has taken its index.
    func decode<T: Decodable>(
        _ type: T.Type,
        _ word: Int,
        of indexed: JSONIndexed,
        noting reads: JSONReads? = nil,
        after before: Data? = nil
    ) throws -> T? {
        try indexed.text.withUnsafeBytes { bytes in
            guard let index = indexed.take() else { return nil }
            var run = JSONRun(bytes, index, self, root: word, reads: reads, after: before)
            reads?.begin(run)
            defer { if !isKnownUniquelyReferenced(&run) { run.keepBytes() } }
            let value = try run.decode(type, word)
            reads?.finish(run)
            return value
        }
    }
}

extension JSONValue {
    /// Decodes a `Decodable` type from this value.
    ///
    /// Integers must be exact: `1.0` is 1; `1.5` and numbers out of range are errors. A `Double` is the nearest one.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - dates: The format of dates.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` with the coding path, or an error of the type's own `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, dates: JSONDateStrategy = .iso8601) throws -> T {
        var decoder = LosslessJSONDecoder()
        decoder.dates = dates
        return try decoder.decode(type, from: self)
    }
}

/// The underlying error of a `DecodingError` for a number that the requested type cannot represent.
struct UnfitNumber: Error {
    /// The name of the type.
    let type: String
}
