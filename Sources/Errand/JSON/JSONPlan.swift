internal import Foundation

/// A type that is decoded without its own `init(from:)`.
protocol JSONPlanned {
    /// Decodes a value.
    static func decode(_ run: JSONRun, _ word: Int) throws -> Self

    /// Decodes an array of values.
    static func decodeArray(_ run: JSONRun, _ array: Int) throws -> [Self]
}

/// A generic caller knows the type by another name.
extension JSONPlanned {
    static func decode<T>(_ run: JSONRun, _ word: Int, as type: T.Type) throws -> T {
        unsafeBitCast(try decode(run, word), to: type)
    }

    static func decodeArray<T>(_ run: JSONRun, _ array: Int, as type: T.Type) throws -> T {
        unsafeBitCast(try decodeArray(run, array), to: type)
    }
}

/// The way to decode and to encode each type, or `nil` for its own `init(from:)` and `encode(to:)`.
enum JSONPlan {
    // Their slots are atomic.
    nonisolated(unsafe) private static let plans = JSONTypes<(any JSONPlanned.Type)?>()
    nonisolated(unsafe) private static let writers = JSONTypes<(any JSONWritable.Type)?>()

    @inline(__always)
    static func writer(of type: any Any.Type) -> (any JSONWritable.Type)? {
        writers.value(of: type) { type as? any JSONWritable.Type }
    }

    @inline(__always)
    static func of(_ type: any Any.Type) -> (any JSONPlanned.Type)? {
        plans.value(of: type) { type as? any JSONPlanned.Type }
    }
}

extension JSONRun {
    /// Decodes a value of any type.
    func decode<T: Decodable>(_ type: T.Type, _ word: Int) throws -> T {
        guard let plan = JSONPlan.of(type) else { return try T(from: JSONNode(run: self, word: word)) }
        return try plan.decode(self, word, as: type)
    }
}

extension JSONPlanned {
    // Scalars need as much memory as their text, and a few times that at most.
    static func decodeArray(_ run: JSONRun, _ array: Int) throws -> [Self] {
        let count = run.index.count(array)
        return try [Self](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard var place = buffer.baseAddress else { return }
            var word = array &+ 2
            for _ in 0..<count {
                place.initialize(to: try decode(run, word))
                initialized &+= 1
                place += 1
                word = run.index.after(word)
            }
        }
    }
}

extension JSONScalar {
    static func decode(_ run: JSONRun, _ word: Int) throws -> Self { try run.scalar(Self.self, word) }
}

extension JSONScalar where Self: FixedWidthInteger {
    static func decode(_ run: JSONRun, _ word: Int) throws -> Self { try run.integer(Self.self, word) }
}

extension Bool { static func decode(_ run: JSONRun, _ word: Int) throws -> Bool { try run.bool(word) } }
extension String { static func decode(_ run: JSONRun, _ word: Int) throws -> String { try run.string(word) } }
extension Double { static func decode(_ run: JSONRun, _ word: Int) throws -> Double { try run.double(word) } }
extension Float { static func decode(_ run: JSONRun, _ word: Int) throws -> Float { try run.float(word) } }
extension Date { static func decode(_ run: JSONRun, _ word: Int) throws -> Date { try run.date(word) } }
extension Data { static func decode(_ run: JSONRun, _ word: Int) throws -> Data { try run.data(word) } }

extension Optional: JSONPlanned where Wrapped: Decodable {
    static func decode(_ run: JSONRun, _ word: Int) throws -> Wrapped? {
        run.index.kind(word) == .null ? nil : try run.decode(Wrapped.self, word)
    }

    static func decodeArray(_ run: JSONRun, _ array: Int) throws -> [Wrapped?] {
        try run.elements(array, null: .some(nil)) { (value: Wrapped) in value }
    }
}

extension Array: JSONPlanned where Element: Decodable {
    static func decode(_ run: JSONRun, _ word: Int) throws -> [Element] {
        guard let array = try run.structure(word, .array) else {
            return try [Element](from: JSONNode(run: run, word: word))
        }
        if let plan = JSONPlan.of(Element.self) { return try plan.decodeArray(run, array, as: Self.self) }
        return try decodeElements(run, array)
    }

    // Not inlined, because the metadata of an optional element takes longer than a short array.
    @inline(never)
    private static func decodeElements(_ run: JSONRun, _ array: Int) throws -> [Element] {
        try run.elements(array, null: nil) { (element: Element) in element }
    }
}

extension JSONRun {
    /// The word of a container, or `nil` if it is in a string.
    func structure(_ word: Int, _ expected: JSONType) throws -> Int? {
        if index.kind(word) == (expected == .array ? .array : .object) { return word }
        if options.readsJSONInStrings, type(word) == .string { return nil }
        throw expected == .array
            ? mismatch([JSONValue].self, expected, word) : mismatch([String: JSONValue].self, expected, word)
    }

    /// Decodes the elements of an array one by one, because a model may need much more memory than its text.
    ///
    /// - Parameters:
    ///   - array: The array.
    ///   - null: What a null is, or `nil` if it is decoded like any other value.
    ///   - element: Returns the element for a value.
    /// - Returns: The elements.
    /// - Throws: The error of the first element that has one.
    func elements<Element, Value: Decodable>(
        _ array: Int,
        null: Element?,
        _ element: (Value) -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(min(index.count(array), 64))
        let (plan, end) = (JSONPlan.of(Value.self), index.end(array))
        var word = array &+ 2
        while word < end {
            if let null, index.kind(word) == .null {
                elements.append(null)
            } else if let plan {
                elements.append(element(try plan.decode(self, word, as: Value.self)))
            } else {
                elements.append(element(try Value(from: JSONNode(run: self, word: word))))
            }
            word = index.after(word)
        }
        return elements
    }
}

extension Dictionary: JSONPlanned where Key == String, Value: Decodable {
    static func decode(_ run: JSONRun, _ word: Int) throws -> [String: Value] {
        guard let object = try run.structure(word, .object) else {
            return try decode(JSONNode(run: run, word: word).inner(.object).run, 0)
        }
        let wasData = run.isData(object)
        run.setData(object, true)
        var result: [String: Value] = [:]
        for member in run.members(object) where run.isMember(member) {
            let name = run.rawName(member)
            if result[name] == nil { result[name] = try run.decode(Value.self, member &+ 1) }
        }
        run.setData(object, wasData)
        return result
    }
}
