import Foundation

/// A decoder that parses nothing, and finds every key by its byte: what the `init(from:)` of a model and of its arrays cost at
/// least, with the texts made.
struct FloorDecoder: Decoder {
    /// The number of items of a catalogue.
    let count: Int
    /// The number of elements, if an array is decoded.
    var elements = 0

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed(count: count))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { Unkeyed(count: elements) }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Unused() }

    struct Unused: Error {}

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let count: Int

        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        @inline(__always)
        private func find(_ key: Key) throws {
            if unsafeBitCast(key, to: UInt8.self) == 255 { throw Unused() }
        }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) throws -> Bool { false }

        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            try find(key)
            return true
        }

        func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
            try find(key)
            return 77
        }

        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            try find(key)
            return 4.25
        }

        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            try find(key)
            // The longest of four keys of a member is the description.
            return text(unsafeBitCast(key, to: UInt8.self) == 2 ? 75 : 14)
        }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try find(key)
            return try T(from: FloorDecoder(count: count, elements: type == [String].self ? 3 : count))
        }

        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try decode(type, forKey: key) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw Unused() }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unused() }
        func superDecoder() throws -> any Decoder { throw Unused() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Unused() }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let count: Int?
        var currentIndex = 0

        init(count: Int) { self.count = count }

        var codingPath: [any CodingKey] { [] }
        var isAtEnd: Bool { currentIndex == count }

        mutating func decodeNil() throws -> Bool { false }

        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            currentIndex += 1
            return type == String.self ? unsafeBitCast(text(5), to: type) : try T(from: FloorDecoder(count: 0))
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { throw Unused() }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unused() }
        mutating func superDecoder() throws -> any Decoder { throw Unused() }
    }
}

private func text(_ count: Int) -> String { String(decoding: bytes[..<count], as: UTF8.self) }

private let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 75)
