import Foundation

extension JSONValue: Codable {
    /// Creates a value by decoding from any decoder.
    ///
    /// Foundation's decoders lose the order of members, the text of numbers, and what a `Decimal` cannot represent;
    /// ``init(parsing:maximumDepth:)-(Data,_)`` loses nothing and is faster.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder.
    public init(from decoder: any Decoder) throws {
        if let own = decoder as? JSONNode {
            self = own.value
            return
        }
        // A decoder does not expose the value's type, so each type is tried, and the errors of the others are ignored.
        if let container = try? decoder.container(keyedBy: JSONCodingKey.self) {
            let keys = container.allKeys.sortedUnspecialized { $0.stringValue < $1.stringValue }
            let members = try keys.map { ($0.stringValue, try container.decode(JSONValue.self, forKey: $0)) }
            self = .object(JSONObject(members))
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .number(number(value, in: container)) }
        if let value = try? container.decode(UInt64.self) { return .number(number(value, in: container)) }
        if let value = try? container.decode(Decimal.self), let number = JSONNumber(value) { return .number(number) }
        if let number = JSONNumber(try container.decode(Double.self)) { return .number(number) }
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "A number beyond every Swift type")
    }

    /// Returns the number that was decoded as an integer.
    private static func number(
        _ value: some FixedWidthInteger,
        in container: any SingleValueDecodingContainer
    ) -> JSONNumber {
        // Foundation decodes a number as an integer if the nearest `Double` is one, and drops its fraction.
        guard let exact = try? container.decode(Decimal.self), exact.exponent < 0, let number = JSONNumber(exact),
            number.integer(as: Int128.self) == nil
        else { return JSONNumber(value) }
        return number
    }

    /// Encodes the value into any encoder.
    ///
    /// Foundation's encoders lose the order of members and the text of numbers; ``data`` loses nothing.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements): try elements.encode(to: encoder)
        case .object(let members):
            var container = encoder.container(keyedBy: JSONCodingKey.self)
            for (name, value) in members.withoutRepetitions {
                try container.encode(value, forKey: JSONCodingKey(stringValue: name))
            }
        case .null: try Bool?.none.encode(to: encoder)
        case .bool(let value): try value.encode(to: encoder)
        case .string(let value): try value.encode(to: encoder)
        case .number(let value): try value.encode(to: encoder)
        }
    }
}

extension JSONValue {
    fileprivate func required<T>(_ part: (JSONValue) -> T?, _ words: String, _ decoder: any Decoder) throws -> T {
        guard let part = part(self) else {
            let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "Expected \(words)")
            throw DecodingError.typeMismatch(T.self, context)
        }
        return part
    }
}

extension JSONNumber: Codable {
    /// Creates a number by decoding from any decoder; see ``JSONValue/init(from:)`` for what is lost.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder.
    public init(from decoder: any Decoder) throws {
        self = try JSONValue(from: decoder).required(\.number, "a number", decoder)
    }

    /// Encodes the number as the first of `Int64`, `UInt64`, `Decimal` and `Double` that can represent it.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let int64 {
            try container.encode(int64)
        } else if let uint64 {
            try container.encode(uint64)
        } else if let decimal {
            try container.encode(decimal)
        } else if let double {
            try container.encode(double)
        } else {
            let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "Too large a number")
            throw EncodingError.invalidValue(self, context)
        }
    }
}

extension JSONObject: Codable {
    /// Creates an object by decoding from any decoder; see ``JSONValue/init(from:)`` for what is lost.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder.
    public init(from decoder: any Decoder) throws {
        self = try JSONValue(from: decoder).required(\.object, "an object", decoder)
    }

    /// Encodes the object into any encoder; see ``JSONValue/encode(to:)`` for what is lost.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws { try JSONValue.object(self).encode(to: encoder) }
}
