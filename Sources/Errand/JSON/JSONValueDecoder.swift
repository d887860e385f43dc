import Foundation

/// Reads a `Decodable` type from a ``JSONValue``.
struct JSONValueDecoder {
    /// How dates are written.
    var dates: JSONDateStrategy = .iso8601

    /// Handed to the type's `init(from:)`.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// A value of the type.
    ///
    /// - Throws: `DecodingError` with the coding path, and what the type's own `init(from:)` throws.
    func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        try JSONNodeDecoder(value: value, codingPath: [], options: self).decode(type)
    }
}

extension JSONValue {
    /// Reads a `Decodable` type from this value without writing text.
    ///
    /// Integers must be exact: `1.0` is one, `1.5` and what does not fit are errors. `Double` takes the nearest.
    ///
    /// - Parameters:
    ///   - type: The type to read.
    ///   - dates: How dates are written.
    /// - Returns: A value of the type.
    /// - Throws: `DecodingError` with the coding path, and what the type's own `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type = T.self, dates: JSONDateStrategy = .iso8601) throws -> T {
        try JSONValueDecoder(dates: dates).decode(type, from: self)
    }
}

/// The `Decoder` of one value.
struct JSONNodeDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    let options: JSONValueDecoder

    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: JSONValue].self, expected: .object) }
        return KeyedDecodingContainer(JSONKeyedDecoding<Key>(decoder: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self, expected: .array) }
        return JSONUnkeyedDecoding(decoder: self, elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { JSONSingleValueDecoding(decoder: self) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        guard let scalar = type as? any JSONScalarDecodable.Type else { return try type.init(from: self) }
        let found: (any JSONScalarDecodable)?
        do {
            found = try scalar.make(from: value, dates: options.dates)
        } catch {
            throw failure(type, error.reason)
        }
        guard let result = found as? T else {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "\(value.type.phrase) that is no valid or exact \(type)"
            )
            throw DecodingError.dataCorrupted(context)
        }
        return result
    }

    func member(_ value: JSONValue, _ key: any CodingKey) -> JSONNodeDecoder {
        JSONNodeDecoder(value: value, codingPath: codingPath + [key], options: options)
    }

    private func mismatch(_ type: any Any.Type, expected: JSONType) -> DecodingError {
        failure(type, .typeMismatch(expected: expected.phrase, found: value.type.phrase))
    }

    private func failure(_ type: any Any.Type, _ reason: JSONError.Reason) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: JSONError(reason).description)
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}
