import Foundation

/// Decodes a `Decodable` type from a ``JSONValue``.
struct JSONValueDecoder {
    /// The format of dates.
    var dates: JSONDateStrategy = .iso8601

    /// The user info that is passed to the type's `init(from:)`.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// The mapping of member names to properties.
    var keys: JSONKeyStrategy = .asWritten

    /// Whether scalars of another type are converted.
    var convertsScalars = false

    /// Whether a string is parsed as JSON if an object or an array is requested.
    var readsJSONInStrings = false

    /// Decodes a value.
    ///
    /// - Throws: `DecodingError` with the coding path, or an error of the type's own `init(from:)`.
    func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        try JSONNodeDecoder(value: value, codingPath: [], options: self).decode(type)
    }
}

extension JSONValue {
    /// Decodes a `Decodable` type from this value without writing text.
    ///
    /// Integers must be exact: `1.0` is 1; `1.5` and numbers out of range are errors. A `Double` is the nearest one.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - dates: The format of dates.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` with the coding path, or an error of the type's own `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, dates: JSONDateStrategy = .iso8601) throws -> T {
        try JSONValueDecoder(dates: dates).decode(type, from: self)
    }
}

/// The underlying error of a `DecodingError` for a number that the requested type cannot represent.
struct UnfitNumber: Error {
    /// The name of the type.
    let type: String
}

/// The `Decoder` of one value.
struct JSONNodeDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    let options: JSONValueDecoder
    /// Whether the names of this object's members are data.
    var keepsNames = false

    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(var members) = structure else { throw mismatch([String: JSONValue].self, expected: .object) }
        if !keepsNames, !options.keys.isTrivial { members = options.keys.renaming(members) }
        return KeyedDecodingContainer(JSONKeyedDecoding<Key>(decoder: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = structure else { throw mismatch([JSONValue].self, expected: .array) }
        return JSONUnkeyedDecoding(decoder: self, elements: elements)
    }

    /// The value, or the value in a string that is parsed as JSON.
    private var structure: JSONValue {
        guard options.readsJSONInStrings, case .string(let text) = value else { return value }
        // A string that is not JSON is a value of the wrong type.
        return (try? JSONValue(parsing: text)) ?? value
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { JSONSingleValueDecoding(decoder: self) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        guard let scalar = type as? any JSONScalarDecodable.Type else {
            return try type.init(from: keepingNames(of: type))
        }
        guard let result = try decode(scalar) as? T else { throw unfit(type) }
        return result
    }

    /// Returns the decoder for a value of a custom type.
    private func keepingNames(of type: any Any.Type) -> JSONNodeDecoder {
        var decoder = self
        decoder.keepsNames = !options.keys.isTrivial && type is any JSONKeyedByText.Type
        return decoder
    }

    /// Returns the scalar, or `nil` if the value doesn't fit it.
    private func decode(_ scalar: any JSONScalarDecodable.Type) throws -> (any JSONScalarDecodable)? {
        var found: (any JSONScalarDecodable)?
        do {
            found = try scalar.make(from: value, dates: options.dates)
            if found == nil { found = try alternative(for: scalar) }
        } catch {
            guard let other = try? alternative(for: scalar) else { throw failure(scalar, error.reason) }
            found = other
        }
        return found
    }

    private func unfit(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "\(value.type.phrase) that is no valid or exact \(type)",
            underlyingError: value.number.map { _ in UnfitNumber(type: "\(type)") }
        )
        return .dataCorrupted(context)
    }

    /// Returns the scalar, converted from another JSON type as far as the options allow, or `nil` if there is none.
    private func alternative(for scalar: any JSONScalarDecodable.Type) throws(JSONError) -> (any JSONScalarDecodable)? {
        if options.readsJSONInStrings, scalar is JSONObject.Type, value != structure {
            return try scalar.make(from: structure, dates: options.dates)
        }
        guard options.convertsScalars, let converted = value.converted(for: scalar) else { return nil }
        return try scalar.make(from: converted, dates: options.dates)
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
