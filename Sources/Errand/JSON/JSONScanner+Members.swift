extension JSONScanner {
    /// Validates a text and, in the same pass, finds members of its top-level object and of objects in it.
    ///
    /// - Parameters:
    ///   - tree: The requested members, which are compared after unescaping.
    ///   - bytes: The text, as UTF-8.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512.
    ///   - isValidated: Whether the text was validated before, so that it is only scanned.
    /// - Returns: The range of each member's value by its slot, or `nil` if there is no such member. Returns `nil` if
    ///   the text is valid and not an object.
    /// - Throws: `duplicateMember` if a requested member, or one on the path to it, occurs twice in any spelling, and
    ///   the errors of ``validate(_:maximumDepth:)``.
    static func members(
        _ tree: JSONMemberTree,
        in bytes: UnsafeRawBufferPointer,
        maximumDepth: Int = JSONDepth.standard,
        isValidated: Bool = false
    ) throws(JSONError) -> [Range<Int>?]? {
        let scanner = JSONScanner(bytes)
        let limit = JSONDepth.clamped(maximumDepth)
        let start = try scanner.start()
        guard scanner.byte(at: start) == UInt8(ascii: "{") else {
            if !isValidated { try scanner.finish(at: try scanner.validateValue(at: start, depth: 0, limit: limit)) }
            return nil
        }
        var reader = MemberReader(scanner: scanner, limit: limit, isValidated: isValidated, count: tree.count)
        let end = try reader.read(objectAt: start, tree.nodes, depth: 1)
        if !isValidated { try scanner.finish(at: end) }
        return reader.found
    }

    /// Reads objects and records the ranges of requested values; recursive only to the depth of the requested members.
    private struct MemberReader {
        let scanner: JSONScanner
        let limit: Int
        let isValidated: Bool
        var found: [Range<Int>?]

        init(scanner: JSONScanner, limit: Int, isValidated: Bool, count: Int) {
            self.scanner = scanner
            self.limit = limit
            self.isValidated = isValidated
            found = [Range<Int>?](repeating: nil, count: count)
        }

        /// Reads the object at `start`, the innermost of `depth` containers, and returns the offset after it.
        mutating func read(
            objectAt start: Int,
            _ nodes: [JSONMemberTree.Node],
            depth: Int
        ) throws(JSONError) -> Int {
            if depth > limit { throw scanner.failure(.tooDeep(limit: limit), at: start) }
            var index = scanner.skipWhitespace(from: start &+ 1)
            if scanner.byte(at: index) == UInt8(ascii: "}") { return index &+ 1 }
            while true {
                guard scanner.byte(at: index) == UInt8(ascii: "\"") else {
                    throw scanner.failure(expecting: "a member name in quotes", at: index)
                }
                let nameEnd = try scanner.validateString(at: index &+ 1)
                let place = nodes.indices.first { nodes[$0].name.matches(index &+ 1..<nameEnd &- 1, in: scanner) }
                if let place, found[nodes[place].slot] != nil {
                    throw scanner.failure(.duplicateMember(nodes[place].name.text), at: index)
                }
                let colon = scanner.skipWhitespace(from: nameEnd)
                guard scanner.byte(at: colon) == UInt8(ascii: ":") else {
                    throw scanner.failure(expecting: "a colon", at: colon)
                }
                let valueStart = scanner.skipWhitespace(from: colon &+ 1)
                let valueEnd: Int
                if let place {
                    valueEnd = try end(ofValueAt: valueStart, nodes[place].children, depth: depth)
                    found[nodes[place].slot] = valueStart..<valueEnd
                } else {
                    valueEnd = try end(ofValueAt: valueStart, [], depth: depth)
                }
                index = scanner.skipWhitespace(from: valueEnd)
                switch scanner.byte(at: index) {
                case UInt8(ascii: ","): index = scanner.skipWhitespace(from: index &+ 1)
                case UInt8(ascii: "}"): return index &+ 1
                default: throw scanner.failure(expecting: "a comma or the end of the object", at: index)
                }
            }
        }

        private mutating func end(
            ofValueAt start: Int,
            _ children: [JSONMemberTree.Node],
            depth: Int
        ) throws(JSONError) -> Int {
            if !children.isEmpty, scanner.byte(at: start) == UInt8(ascii: "{") {
                return try read(objectAt: start, children, depth: depth &+ 1)
            }
            guard isValidated else { return try scanner.validateValue(at: start, depth: depth, limit: limit) }
            guard let end = scanner.skipValue(at: start) else { throw JSONError(.unexpectedEnd, offset: scanner.end) }
            // If the text was not validated, this may be past its end.
            return min(max(end, start), scanner.end)
        }
    }

    /// Returns the start of a member's value in validated text; the first one is used, as in Foundation's decoder.
    ///
    /// - Parameters:
    ///   - name: The name, compared after unescaping.
    ///   - start: The first byte of the object.
    /// - Returns: The offset, or `nil` if there is no such member or the value is not an object.
    func member(_ name: JSONName, ofObjectAt start: Int) -> Int? {
        var members = MemberIterator(self, objectAt: start)
        while let member = members.next() {
            if name.matches(member.name, in: self) { return member.value }
        }
        return nil
    }

    /// Returns the range of the value that begins at `start` in validated text, which ends at ``end`` at the latest.
    func range(ofValueAt start: Int) -> Range<Int> {
        let start = min(start, end)
        return start..<min(max(skipValue(at: start) ?? end, start), end)
    }

    /// Returns the type of the value at `start`, for an error message.
    func typeName(at start: Int) -> String { JSONType(firstByte: byte(at: start))?.phrase ?? "nothing" }
}

/// The six types of RFC 8259, which the first byte of a value determines.
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
    @inline(never)
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

/// The requested members of an object and of the objects in it.
///
/// Its depth is the length of the longest inserted list of names, whatever the depth of a text.
struct JSONMemberTree: Sendable, Hashable {
    /// A requested member, or one on the path to it.
    struct Node: Sendable, Hashable {
        let name: JSONName
        /// The index of its value's range in the result.
        let slot: Int
        var children: [Node] = []
    }

    /// The members of the outermost object.
    private(set) var nodes: [Node] = []

    /// The number of slots of a result.
    private(set) var count = 0

    /// Inserts the member at the end of a list of names; the members on the path have slots, too.
    ///
    /// - Parameter names: The names from the outside in; at least one.
    /// - Returns: The slot of the last one; the same for the same names.
    mutating func insert(_ names: some Collection<JSONName>) -> Int {
        Self.insert(names[...], into: &nodes, count: &count)
    }

    private static func insert<Names: Collection<JSONName>>(
        _ names: Names,
        into nodes: inout [Node],
        count: inout Int
    ) -> Int where Names.SubSequence == Names {
        guard let first = names.first else { return 0 }
        let place =
            nodes.firstIndex { $0.name == first }
            ?? {
                nodes.append(Node(name: first, slot: count))
                count += 1
                return nodes.count - 1
            }()
        let rest = names.dropFirst()
        return rest.isEmpty ? nodes[place].slot : insert(rest, into: &nodes[place].children, count: &count)
    }
}
