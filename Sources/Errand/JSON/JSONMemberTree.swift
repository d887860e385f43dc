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
