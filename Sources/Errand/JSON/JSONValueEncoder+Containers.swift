import Foundation

/// The `Encoder` of one node.
struct JSONNodeEncoder: Encoder {
    let node: JSONEncodingNode
    let codingPath: [any CodingKey]
    let options: JSONValueEncoder
    /// Whether this is the outermost value, which has its keys filtered.
    var isOutermost = false

    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(JSONKeyedEncoding<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeArray()
        return JSONUnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingleValueEncoding(encoder: self) }

    /// Returns the encoder of the member with a key, or `nil` if the key is dropped.
    func member(_ key: some CodingKey) -> JSONNodeEncoder? {
        var name = key.stringValue
        if isOutermost, let keyFilter = options.keyFilter {
            guard let kept = keyFilter(key) else { return nil }
            name = kept
        }
        return JSONNodeEncoder(node: node.member(name), codingPath: codingPath + [key], options: options)
    }

    func element() -> JSONNodeEncoder {
        let key = JSONCodingKey(index: node.count)
        return JSONNodeEncoder(node: node.element(), codingPath: codingPath + [key], options: options)
    }

    func encode(_ value: some Encodable) throws {
        guard let scalar = value as? any JSONScalarEncodable else {
            try value.encode(to: self)
            if let unordered = value as? any JSONUnordered { node.sort(inPairs: type(of: unordered).isOfPairs) }
            return
        }
        guard let json = scalar.jsonValue(dates: options.dates) else {
            let reason = "JSON has no way to write this value"
            throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: reason))
        }
        guard isOutermost, options.keyFilter != nil, case .object(let members) = json else { return node.set(json) }
        node.becomeObject()
        for (name, value) in members { member(JSONCodingKey(stringValue: name))?.node.set(value) }
    }
}

/// A collection that has another order in another process or in an equal value.
private protocol JSONUnordered {
    /// Whether its array consists of keys, each followed by its value.
    static var isOfPairs: Bool { get }
}

extension Dictionary: JSONUnordered where Key: Encodable, Value: Encodable { static var isOfPairs: Bool { true } }

extension Set: JSONUnordered where Element: Encodable { static var isOfPairs: Bool { false } }

/// A coding key for array indices and names.
struct JSONCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    /// The key of a superclass's members, as in Foundation.
    static let superclass = JSONCodingKey(stringValue: "super")
}

private struct JSONKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONNodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    private func target(_ key: some CodingKey) -> JSONNodeEncoder {
        encoder.member(key)
            ?? JSONNodeEncoder(node: JSONEncodingNode(), codingPath: codingPath + [key], options: encoder.options)
    }

    func encodeNil(forKey key: Key) throws { encoder.member(key)?.node.setNil(omitting: encoder.options.omitsNil) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.member(key)?.encode(value) }
    // The default implementations of these two throw, and are preferred over the generic method.
    func encode(_ value: Int128, forKey key: Key) throws { try encoder.member(key)?.encode(value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try encoder.member(key)?.encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { target(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { target(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { target(JSONCodingKey.superclass) }
    func superEncoder(forKey key: Key) -> any Encoder { target(key) }
}

private struct JSONUnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: JSONNodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    func encodeNil() throws { encoder.element().node.setNil(omitting: encoder.options.omitsNil) }
    func encode(_ value: some Encodable) throws { try encoder.element().encode(value) }
    func encode(_ value: Int128) throws { try encoder.element().encode(value) }
    func encode(_ value: UInt128) throws { try encoder.element().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.element().unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.element() }
}

private struct JSONSingleValueEncoding: SingleValueEncodingContainer {
    let encoder: JSONNodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { encoder.node.setNil(omitting: encoder.options.omitsNil) }
    func encode(_ value: some Encodable) throws { try encoder.encode(value) }
    func encode(_ value: Int128) throws { try encoder.encode(value) }
    func encode(_ value: UInt128) throws { try encoder.encode(value) }
}
