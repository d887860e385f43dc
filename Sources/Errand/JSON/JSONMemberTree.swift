/// Which members of an object, and of the objects inside it, are wanted.
///
/// As deep as the longest list of names that was put in, whatever the depth of a text.
struct JSONMemberTree: Sendable, Hashable {
    /// A wanted member, or one on the way to such.
    struct Node: Sendable, Hashable {
        let name: JSONName
        /// Where the range of its value stands in the result.
        let slot: Int
        var children: [Node] = []
    }

    /// The members of the outermost object.
    private(set) var nodes: [Node] = []

    /// How many slots a result has.
    private(set) var count = 0

    /// Adds the member of a member that these names lead to; nodes on the way have slots too.
    ///
    /// - Parameter names: The names from the outside in; one at least.
    /// - Returns: The slot of the last one; the same one for the same names.
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

extension JSONMemberTree: ExpressibleByArrayLiteral {
    /// Members of the outermost object, their slots in this order.
    init(arrayLiteral names: JSONName...) { self.init(names) }

    /// Members of the outermost object, their slots in this order; each name once.
    init(_ names: [JSONName]) { for name in names { _ = insert([name]) } }
}
