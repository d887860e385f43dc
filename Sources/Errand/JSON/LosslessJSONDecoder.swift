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

    private func decode<T: Decodable>(_ type: T.Type, from data: Data, maximumDepth: Int) throws -> T {
        do {
            return try data.withUnsafeBytes { try decode(type, in: JSONRun($0, self, maximumDepth: maximumDepth)) }
        } catch let error as JSONError {
            // A byte order mark, or half a surrogate pair.
            guard error.reason == .invalidUTF8 else { throw error }
            let copy = try data.repairingJSON { (bytes) throws(JSONError) in
                try JSONScanner.validate(bytes, maximumDepth: maximumDepth)
            }.copy
            guard let copy else { throw error }
            return try copy.withUnsafeBytes { try decode(type, in: JSONRun($0, self, maximumDepth: maximumDepth)) }
        }
    }

    private func decode<T: Decodable>(_ type: T.Type, in run: consuming JSONRun) throws -> T {
        var run = run
        defer { if !isKnownUniquelyReferenced(&run) { run.keepBytes() } }
        return try run.decode(type, 0)
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
