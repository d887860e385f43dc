struct JSONKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONNodeDecoder
    let members: JSONObject

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.names.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).value.isNull }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try member(key).decode(type) }
    // The default implementations of these two throw, and are preferred over the generic method.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try member(key).decode(type) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try member(key).decode(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        let key = JSONCodingKey.superclass
        return decoder.member(members[key.stringValue] ?? .null, key)
    }

    func superDecoder(forKey key: Key) -> any Decoder { decoder.member(members[key.stringValue] ?? .null, key) }

    private func member(_ key: Key) throws -> JSONNodeDecoder {
        guard let value = members[key.stringValue] else {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "No member \"\(key.stringValue)\"; make the property optional if it may be absent."
            )
            throw DecodingError.keyNotFound(key, context)
        }
        return decoder.member(value, key)
    }
}

struct JSONUnkeyedDecoding: UnkeyedDecodingContainer {
    let decoder: JSONNodeDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(decoder: JSONNodeDecoder, elements: [JSONValue]) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try current().value.isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try advance { try $0.decode(type) } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try advance { try $0.decode(type) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try advance { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try advance { try $0.container(keyedBy: type) } }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try advance { $0 } }

    /// Advances only if `read` succeeds, so that a caller may try another type.
    private mutating func advance<T>(_ read: (JSONNodeDecoder) throws -> T) throws -> T {
        let result = try read(current())
        currentIndex += 1
        return result
    }

    private func current() throws -> JSONNodeDecoder {
        let key = JSONCodingKey(index: currentIndex)
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: codingPath + [key],
                debugDescription: "The array has only \(elements.count) elements."
            )
            throw DecodingError.valueNotFound(JSONValue.self, context)
        }
        return decoder.member(elements[currentIndex], key)
    }
}

struct JSONSingleValueDecoding: SingleValueDecodingContainer {
    let decoder: JSONNodeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value.isNull }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.decode(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try decoder.decode(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.decode(type) }
}
