internal import Foundation

/// A type that is decoded without its own `init(from:)`.
protocol JSONPlanned {
    /// Decodes a value into memory that is not initialized.
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws

    /// Decodes the elements of an array into memory that is not initialized.
    static func decodeArray(_ run: JSONRun, _ array: Int, into memory: UnsafeMutableRawPointer) throws
}

/// The way to decode each type, or `nil` for its own `init(from:)`.
enum JSONPlan {
    // Its slots are atomic.
    nonisolated(unsafe) private static let plans = JSONTypes<(any JSONPlanned.Type)?>()

    @inline(__always)
    static func of(_ type: any Any.Type) -> (any JSONPlanned.Type)? {
        plans.value(of: type) { type as? any JSONPlanned.Type }
    }
}

extension JSONRun {
    /// Decodes a value of any type.
    func decode<T: Decodable>(_ type: T.Type, _ word: Int) throws -> T {
        guard let plan = JSONPlan.of(type) else { return try T(from: JSONNode(run: self, word: word)) }
        return try withSpace(for: type) { place in
            try plan.decode(self, word, into: place)
            return place.move()
        }
    }

    /// Calls a closure with memory for one value, which is not initialized.
    private func withSpace<Value, Result>(
        for type: Value.Type,
        _ body: (UnsafeMutablePointer<Value>) throws -> Result
    ) rethrows -> Result {
        try withUnsafeTemporaryAllocation(of: type, capacity: 1) { space in
            guard let place = space.baseAddress else { preconditionFailure("one value needs memory") }
            return try body(place)
        }
    }
}

extension JSONPlanned {
    // Scalars need as much memory as their text, and a few times that at most.
    static func decodeArray(_ run: JSONRun, _ array: Int, into memory: UnsafeMutableRawPointer) throws {
        let count = run.count(array)
        let elements = try [Self](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard var place = buffer.baseAddress else { return }
            var word = array &+ 2
            for _ in 0..<count {
                try decode(run, word, into: place)
                initialized &+= 1
                place += 1
                word = run.after(word)
            }
        }
        memory.initializeMemory(as: [Self].self, to: elements)
    }
}

extension JSONPlanned where Self: JSONScalarDecodable {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Self.self, to: try run.scalar(Self.self, word))
    }
}

extension JSONPlanned where Self: JSONScalarDecodable & FixedWidthInteger {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Self.self, to: try run.integer(Self.self, word))
    }
}

extension Int: JSONPlanned {}
extension Int8: JSONPlanned {}
extension Int16: JSONPlanned {}
extension Int32: JSONPlanned {}
extension Int64: JSONPlanned {}
extension Int128: JSONPlanned {}
extension UInt: JSONPlanned {}
extension UInt8: JSONPlanned {}
extension UInt16: JSONPlanned {}
extension UInt32: JSONPlanned {}
extension UInt64: JSONPlanned {}
extension UInt128: JSONPlanned {}
extension Decimal: JSONPlanned {}
extension Data: JSONPlanned {}
extension URL: JSONPlanned {}
extension JSONValue: JSONPlanned {}
extension JSONNumber: JSONPlanned {}
extension JSONObject: JSONPlanned {}

extension Bool: JSONPlanned {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Bool.self, to: try run.bool(word))
    }
}

extension String: JSONPlanned {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: String.self, to: try run.string(word))
    }
}

extension Double: JSONPlanned {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Double.self, to: try run.double(word))
    }
}

extension Float: JSONPlanned {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Float.self, to: try run.float(word))
    }
}

extension Date: JSONPlanned {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        memory.initializeMemory(as: Date.self, to: try run.date(word))
    }
}

extension Optional: JSONPlanned where Wrapped: Decodable {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        let value: Wrapped? = run.kind(word) == .null ? nil : try run.decode(Wrapped.self, word)
        memory.initializeMemory(as: Wrapped?.self, to: value)
    }

    static func decodeArray(_ run: JSONRun, _ array: Int, into memory: UnsafeMutableRawPointer) throws {
        let elements: [Wrapped?] = try run.elements(array, null: .some(nil)) { (value: Wrapped) in value }
        memory.initializeMemory(as: [Wrapped?].self, to: elements)
    }
}

extension Array: JSONPlanned where Element: Decodable {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        guard let array = try run.structure(word, .array) else {
            memory.initializeMemory(as: [Element].self, to: try [Element](from: JSONNode(run: run, word: word)))
            return
        }
        if let plan = JSONPlan.of(Element.self) { return try plan.decodeArray(run, array, into: memory) }
        let elements = try run.elements(array, null: nil) { (element: Element) in element }
        memory.initializeMemory(as: [Element].self, to: elements)
    }
}

extension JSONRun {
    /// The word of a container, or `nil` if it is in a string.
    func structure(_ word: Int, _ expected: JSONType) throws -> Int? {
        if type(word) == expected { return word }
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
        elements.reserveCapacity(min(count(array), 64))
        let (plan, end) = (JSONPlan.of(Value.self), end(array))
        var word = array &+ 2
        try withSpace(for: Value.self) { place in
            while word < end {
                if let null, kind(word) == .null {
                    elements.append(null)
                } else if let plan {
                    try plan.decode(self, word, into: place)
                    elements.append(element(place.move()))
                } else {
                    elements.append(element(try Value(from: JSONNode(run: self, word: word))))
                }
                word = after(word)
            }
        }
        return elements
    }
}

extension Dictionary: JSONPlanned where Key == String, Value: Decodable {
    static func decode(_ run: JSONRun, _ word: Int, into memory: UnsafeMutableRawPointer) throws {
        guard let object = try run.structure(word, .object) else {
            return try decode(JSONNode(run: run, word: word).inner(.object).run, 0, into: memory)
        }
        let wasData = run.isData(object)
        run.setData(object, true)
        var result: [String: Value] = [:]
        for member in run.members(object) where run.isMember(member) {
            let name = run.rawName(member)
            if result[name] == nil { result[name] = try run.decode(Value.self, member &+ 1) }
        }
        run.setData(object, wasData)
        memory.initializeMemory(as: [String: Value].self, to: result)
    }
}
