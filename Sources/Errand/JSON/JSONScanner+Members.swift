extension JSONScanner {
    /// Validates a whole text and, in the same pass, finds members of its top-level object.
    ///
    /// - Parameters:
    ///   - names: The members wanted, each once. They are compared after unescaping.
    ///   - bytes: The text, as UTF-8.
    ///   - maximumDepth: How deep arrays and objects may nest, from 1 to 512.
    /// - Returns: The range of each member's value, in the order of `names`; `nil` where there is none.
    /// - Throws: `duplicateMember` when one of `names` occurs twice in any spelling, `typeMismatch` when the value is
    ///   valid and no object, and what ``validate(_:maximumDepth:)`` throws.
    static func members(
        named names: [JSONName],
        in bytes: UnsafeRawBufferPointer,
        maximumDepth: Int = defaultMaximumDepth
    ) throws(JSONError) -> [Range<Int>?] {
        let scanner = JSONScanner(bytes)
        let limit = clampedDepth(maximumDepth)
        let start = try scanner.start()
        guard scanner.byte(at: start) == UInt8(ascii: "{") else {
            try scanner.finish(at: try scanner.validateValue(at: start, depth: 0, limit: limit))
            throw JSONError(.typeMismatch(expected: "an object", found: scanner.typeName(at: start)), offset: start)
        }
        var found = [Range<Int>?](repeating: nil, count: names.count)
        var index = scanner.skipWhitespace(from: start + 1)
        if scanner.byte(at: index) == UInt8(ascii: "}") {
            try scanner.finish(at: index + 1)
            return found
        }
        while true {
            guard scanner.byte(at: index) == UInt8(ascii: "\"") else {
                throw scanner.failure(expecting: "a member name in quotes", at: index)
            }
            let nameEnd = try scanner.validateString(at: index + 1)
            let wanted = names.firstIndex { $0.matches(index + 1..<nameEnd - 1, in: scanner) }
            let colon = scanner.skipWhitespace(from: nameEnd)
            guard scanner.byte(at: colon) == UInt8(ascii: ":") else {
                throw scanner.failure(expecting: "a colon", at: colon)
            }
            let valueStart = scanner.skipWhitespace(from: colon + 1)
            let valueEnd = try scanner.validateValue(at: valueStart, depth: 1, limit: limit)
            if let wanted {
                if found[wanted] != nil { throw JSONError(.duplicateMember(names[wanted].text), offset: index) }
                found[wanted] = valueStart..<valueEnd
            }
            index = scanner.skipWhitespace(from: valueEnd)
            switch scanner.byte(at: index) {
            case UInt8(ascii: ","): index = scanner.skipWhitespace(from: index + 1)
            case UInt8(ascii: "}"):
                try scanner.finish(at: index + 1)
                return found
            default: throw scanner.failure(expecting: "a comma or the end of the object", at: index)
            }
        }
    }

    /// Where a member's value begins in validated text; the first one wins, as in Foundation's decoder.
    ///
    /// - Parameters:
    ///   - name: The name, compared after unescaping.
    ///   - start: The first byte of the object.
    ///   - refusesDuplicates: Whether to read the object to its end and throw when the name occurs again.
    /// - Returns: `nil` when there is no such member, or when the value is no object.
    /// - Throws: `duplicateMember`, if that was asked for.
    func member(
        _ name: JSONName,
        ofObjectAt start: Int,
        refusesDuplicates: Bool = false
    ) throws(JSONError) -> Int? {
        var members = MemberIterator(self, objectAt: start)
        var found: Int?
        while let member = members.next() {
            guard name.matches(member.name, in: self) else { continue }
            if found != nil { throw JSONError(.duplicateMember(name.text), offset: member.name.lowerBound - 1) }
            found = member.value
            if !refusesDuplicates { break }
        }
        return found
    }

    /// The range of the value that begins at `start` in validated text; up to ``end`` when it does not end before.
    func range(ofValueAt start: Int) -> Range<Int> {
        let start = min(start, end)
        return start..<min(max(skipValue(at: start) ?? end, start), end)
    }

    /// What stands at `start`, in words for an error.
    func typeName(at start: Int) -> String { JSONType(firstByte: byte(at: start))?.phrase ?? "nothing" }
}

/// The six types of RFC 8259, told apart by the first byte of a value.
enum JSONType: Sendable {
    case null
    case bool
    case number
    case string
    case array
    case object

    init?(firstByte: UInt8) {
        switch firstByte {
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): self = .number
        case UInt8(ascii: "\""): self = .string
        case UInt8(ascii: "["): self = .array
        case UInt8(ascii: "{"): self = .object
        default: return nil
        }
    }

    /// The type with its article.
    var phrase: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
