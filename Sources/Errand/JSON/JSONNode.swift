internal import Foundation

/// The `Decoder` of one value of a text.
struct JSONNode: Decoder {
    let run: JSONRun
    let word: Int

    var codingPath: [any CodingKey] { run.path(of: word) }
    var userInfo: [CodingUserInfoKey: Any] { run.options.userInfo }

    /// The value as a tree.
    var value: JSONValue { run.value(word) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let object = try run.structure(word, .object) else {
            return try inner(.object).container(keyedBy: type)
        }
        run.reads?.open(object, of: run)
        return KeyedDecodingContainer(JSONKeyed<Key>(run: run, object: object, names: JSONKeyNames.of(type)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let array = try run.structure(word, .array) else { return try inner(.array).unkeyedContainer() }
        return JSONUnkeyed(run: run, array: UInt32(array))
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { JSONSingle(run: run, word: word) }

    /// The decoder of the text in a string; a string that is not JSON is a value of another type.
    func inner(_ expected: JSONType) throws -> JSONNode {
        let text = run.text(word)
        let type: any Any.Type = expected == .array ? [JSONValue].self : [String: JSONValue].self
        let path = codingPath
        let room = JSONDepth.standard - path.count
        let indexed = room > 0 ? try? JSONIndexed.make(Data(text.utf8), maximumDepth: room) : nil
        let inner = indexed?.text.withUnsafeBytes { bytes -> JSONRun? in
            guard let index = indexed?.take() else { return nil }
            let inner = JSONRun(bytes, index, run.options, prefix: path)
            inner.keepBytes()
            return inner
        }
        guard let inner = inner.flatMap(\.self), inner.type(0) == expected else {
            throw run.mismatch(type, expected, word)
        }
        return JSONNode(run: inner, word: 0)
    }
}

struct JSONKeyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let run: JSONRun
    let object: Int
    let names: JSONKeyNames

    var codingPath: [any CodingKey] { run.path(of: object) }

    var allKeys: [Key] {
        var known: Set<JSONExactName> = []
        return run.members(object).compactMap { member in
            let name = run.comparedName(member)
            guard run.isMember(member), known.insert(JSONExactName(name)).inserted else { return nil }
            return Key(stringValue: name)
        }
    }

    // Once in a program, and not in each of the methods below.
    @inline(never)
    private func find(_ key: Key) -> Int? {
        let word = names.with(key) { run.find($0, in: object) }
        if let reads = run.reads { reads.note(key, in: object, of: run, at: word) }
        return word
    }

    @inline(__always)
    private func word(_ key: Key) throws -> Int {
        guard let word = find(key) else { throw run.missing(key, object) }
        return word
    }

    /// The word of a value that is neither absent nor null.
    @inline(__always)
    private func present(_ key: Key) -> Int? {
        guard let word = find(key), run.index.kind(word) != .null else { return nil }
        return word
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try run.index.kind(word(key)) == .null }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try run.bool(word(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try run.string(word(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try run.double(word(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try run.float(word(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try run.integer(type, word(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try run.integer(type, word(key)) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try run.integer(type, word(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try run.integer(type, word(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try run.integer(type, word(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try run.integer(type, word(key)) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try run.decode(type, word(key)) }

    // The default implementations, which serve for rarer types, look the key up three times.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key).map(run.bool) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key).map(run.string) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key).map(run.double) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integer(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integer(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integer(key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let word = present(key) else { return nil }
        return try run.decode(type, word)
    }

    private func integer<I: FixedWidthInteger & JSONScalar>(_ key: Key) throws -> I? {
        try present(key).map { try run.integer(I.self, $0) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try JSONNode(run: run, word: word(key)).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONNode(run: run, word: word(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        JSONKeyed<JSONCodingKey>(run: run, object: object, names: .of(JSONCodingKey.self))
            .superDecoder(forKey: .superclass)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        if let word = find(key) { return JSONNode(run: run, word: word) }
        return JSONNode(run: run, word: run.absent(key, in: object))
    }
}

struct JSONUnkeyed: UnkeyedDecodingContainer {
    let run: JSONRun
    // Small enough for an existential without an allocation.
    private let array: UInt32
    private var next: UInt32
    private var index: UInt32 = 0

    init(run: JSONRun, array: UInt32) { (self.run, self.array, next) = (run, array, array + 2) }

    var codingPath: [any CodingKey] { run.path(of: Int(array)) }
    var count: Int? { run.index.count(Int(array)) }
    var currentIndex: Int { Int(index) }
    var isAtEnd: Bool { next >= run.index.end(Int(array)) }

    mutating func decodeNil() throws -> Bool {
        guard try run.index.kind(current()) == .null else { return false }
        return try advance { _, _ in true }
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 { try advance { try $0.integer(type, $1) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try advance { try $0.integer(type, $1) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try advance { try $0.decode(type, $1) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try advance { try JSONNode(run: $0, word: $1).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance { try JSONNode(run: $0, word: $1).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try advance { JSONNode(run: $0, word: $1) } }

    /// Advances only if `read` succeeds, so that a caller may try another type.
    private mutating func advance<T>(_ read: (JSONRun, Int) throws -> T) throws -> T {
        let word = try current()
        let result = try read(run, word)
        next = UInt32(truncatingIfNeeded: run.index.after(word))
        index &+= 1
        return result
    }

    private func current() throws -> Int {
        guard isAtEnd else { return Int(next) }
        let context = DecodingError.Context(
            codingPath: codingPath + [JSONCodingKey(index: currentIndex)],
            debugDescription: "The array has only \(run.index.count(Int(array))) elements."
        )
        throw DecodingError.valueNotFound(JSONValue.self, context)
    }
}

struct JSONSingle: SingleValueDecodingContainer {
    let run: JSONRun
    let word: Int

    var codingPath: [any CodingKey] { run.path(of: word) }

    func decodeNil() -> Bool { run.index.kind(word) == .null }
    func decode(_ type: String.Type) throws -> String { try run.string(word) }
    func decode(_ type: Int.Type) throws -> Int { try run.integer(type, word) }
    func decode(_ type: Int128.Type) throws -> Int128 { try run.integer(type, word) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try run.integer(type, word) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try run.decode(type, word) }
}
