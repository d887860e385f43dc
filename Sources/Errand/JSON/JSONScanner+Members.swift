extension JSONScanner {
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
