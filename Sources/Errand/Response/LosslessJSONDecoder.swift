public import Foundation

/// A decoder for services that are careless with types, without a loss: what is not the same value is still an error.
///
/// ```swift
/// var decoder = LosslessJSONDecoder()
/// decoder.convertsScalars = true      // "12" for an Int, 12 for a String
/// decoder.keys = .snakeCase
/// config.decoder = decoder            // or that of a Service, or JSONFormatter(decoder: decoder)
/// ```
///
/// Integers are exact: `1.0` is one, `1.5` and what does not fit are errors. Every digit of a `Decimal`, a ``JSONNumber``
/// and a ``JSONValue`` is kept.
public struct LosslessJSONDecoder: DataDecoder {
    /// How dates are written.
    public var dates: JSONDateStrategy = .iso8601

    /// Which property a member is for; a `[String: T]` keeps its names.
    public var keys: JSONKeyStrategy = .asWritten

    /// Whether members that are null are as if they were absent, at every depth; elements of arrays stay.
    public var dropsNulls = false

    /// Whether scalars of another type are converted to the one that is asked for.
    ///
    /// | asked for | taken too |
    /// |---|---|
    /// | a number | a string that spells a JSON number, and nothing else |
    /// | `String` | a number, as it is written; `true` and `false` |
    /// | `Bool` | `0`, `1`, and the strings `0`, `1`, `true`, `false` in any case |
    /// | `Date` in seconds or milliseconds | a string that spells a JSON number |
    public var convertsScalars = false

    /// Whether a string is read as JSON where an object or an array is asked for.
    public var readsJSONInStrings = false

    /// Handed to the type's `init(from:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Makes a decoder that converts nothing.
    public init() {}

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - data: JSON, as UTF-8.
    /// - Returns: The value.
    /// - Throws: ``JSONError`` when the bytes are not JSON, `DecodingError`, and what `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        try decode(type, from: JSONValue(parsing: data))
    }

    /// Decodes a value that has been read already.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - value: The value.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, and what `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        var decoder = JSONValueDecoder(dates: dates, userInfo: userInfo)
        decoder.keys = keys
        decoder.convertsScalars = convertsScalars
        decoder.readsJSONInStrings = readsJSONInStrings
        return try decoder.decode(type, from: dropsNulls ? value.withoutNulls : value)
    }
}
