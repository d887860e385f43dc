public import Foundation

extension JSONValue {
    /// Creates a value by parsing a JSON text.
    ///
    /// - Parameters:
    ///   - data: The text, as UTF-8; a byte order mark is ignored, and half a surrogate pair is U+FFFD.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    @inline(never)
    public init(parsing data: Data, maximumDepth: Int = 128) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONValue(parsing: bytes, maximumDepth: maximumDepth) }
        }
        self = try result.get()
    }

    /// Creates a value by parsing a JSON text in memory.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8; a byte order mark is ignored, and half a surrogate pair is U+FFFD.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    @inline(never)
    public init(parsing bytes: UnsafeRawBufferPointer, maximumDepth: Int = 128) throws(JSONError) {
        self = try JSONScanner.repairing(bytes) { (bytes) throws(JSONError) in
            let index = try JSONIndex(bytes, maximumDepth: maximumDepth)
            return index.value(0, in: JSONScanner(bytes)) { JSONScanner(bytes).string(in: index.content($0)) }
        }.value
    }

    /// Creates a value by parsing a JSON text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    public init(parsing text: String, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: Data(text.utf8), maximumDepth: maximumDepth)
    }
}

extension JSONIndex {
    /// Returns a value as a tree; recursive to the depth of the text, which is limited.
    ///
    /// - Parameters:
    ///   - word: The word of the value.
    ///   - scanner: The text.
    ///   - name: Returns the name that a word stands for.
    /// - Returns: The value.
    func value(_ word: Int, in scanner: JSONScanner, name: (Int) -> String) -> JSONValue {
        switch kind(word) {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number:
            return .number(JSONNumber(validated: String(decoding: scanner.bytes[content(word)], as: UTF8.self)))
        case .string, .escapedString: return .string(scanner.string(in: content(word)))
        case .array:
            var elements: [JSONValue] = []
            elements.reserveCapacity(count(word))
            var next = word &+ 2
            while next < end(word) {
                elements.append(value(next, in: scanner, name: name))
                next = after(next)
            }
            return .array(elements)
        case .object:
            var members: [(String, JSONValue)] = []
            members.reserveCapacity(count(word))
            var next = word &+ 4
            while next < end(word) {
                members.append((name(next), value(next &+ 1, in: scanner, name: name)))
                next = after(next &+ 1)
            }
            return .object(JSONObject(members))
        }
    }
}
