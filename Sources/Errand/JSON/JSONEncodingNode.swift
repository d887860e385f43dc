internal import Foundation

/// The `Encoder` of one value.
struct JSONEncodingNode: Encoder {
    let draft: JSONDraft
    /// By default, the first value of a draft.
    var id = 1

    var codingPath: [any CodingKey] { draft.path() }
    var userInfo: [CodingUserInfoKey: Any] { draft.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        draft.open(.object, id)
        return KeyedEncodingContainer(JSONKeyedEncoding<Key>(draft: draft, id: id, names: JSONKeyNames.of(type)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        draft.open(.array, id)
        return JSONUnkeyedEncoding(draft: draft, id: id)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingleValueEncoding(draft: draft, id: id) }
}

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
    let draft: JSONDraft
    let id: Int
    let names: JSONKeyNames

    var codingPath: [any CodingKey] { draft.path() }

    @inline(__always)
    private func write(_ key: Key, _ write: (JSONDraft.Step) throws -> Bool) throws {
        try draft.writeMember(key, names, id, write)
    }

    func encodeNil(forKey key: Key) throws { try write(key) { _ in draft.writeNil() } }
    func encode(_ value: Bool, forKey key: Key) throws { try write(key) { value.write(to: draft, $0) } }
    func encode(_ value: String, forKey key: Key) throws { try write(key) { value.write(to: draft, $0) } }
    func encode(_ value: Int, forKey key: Key) throws { try write(key) { value.write(to: draft, $0) } }
    func encode(_ value: Double, forKey key: Key) throws { try write(key) { try value.write(to: draft, $0) } }
    // The default implementations of these two throw, and are preferred over the generic method.
    func encode(_ value: Int128, forKey key: Key) throws { try write(key) { value.write(to: draft, $0) } }
    func encode(_ value: UInt128, forKey key: Key) throws { try write(key) { value.write(to: draft, $0) } }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try write(key) { try draft.write(value, $0) } }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { JSONEncodingNode(draft: draft.hole(key, names, id)).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONEncodingNode(draft: draft.hole(key, names, id)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        JSONEncodingNode(draft: draft.hole(JSONCodingKey.superclass, .of(JSONCodingKey.self), id))
    }

    func superEncoder(forKey key: Key) -> any Encoder { JSONEncodingNode(draft: draft.hole(key, names, id)) }
}

private struct JSONUnkeyedEncoding: UnkeyedEncodingContainer {
    let draft: JSONDraft
    let id: Int

    var codingPath: [any CodingKey] { draft.path() }
    var count: Int { draft.count(id) }

    func encodeNil() throws { try draft.writeElement(id, ()) { _ in draft.writeNil() } }
    func encode<T: Encodable>(_ value: T) throws { try draft.writeElement(id, value) { try draft.write(value, $0) } }
    func encode(_ value: Int128) throws { try draft.writeElement(id, value) { try draft.write(value, $0) } }
    func encode(_ value: UInt128) throws { try draft.writeElement(id, value) { try draft.write(value, $0) } }

    private func hole() -> JSONEncodingNode {
        var hole: JSONDraft?
        try? draft.writeElement(id, ()) {
            hole = draft.hole($0)
            return true
        }
        return JSONEncodingNode(draft: hole ?? draft.detached(.none, isUsable: false))
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        hole().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { hole().unkeyedContainer() }
    func superEncoder() -> any Encoder { hole() }
}

private struct JSONSingleValueEncoding: SingleValueEncodingContainer {
    let draft: JSONDraft
    let id: Int

    var codingPath: [any CodingKey] { draft.path() }

    func encodeNil() throws { try draft.writeOnly(id, ()) { draft.writeNil() } }
    func encode<T: Encodable>(_ value: T) throws { try draft.writeOnly(id, value) { try draft.write(value, .none) } }
    func encode(_ value: Int128) throws { try draft.writeOnly(id, value) { try draft.write(value, .none) } }
    func encode(_ value: UInt128) throws { try draft.writeOnly(id, value) { try draft.write(value, .none) } }
}
