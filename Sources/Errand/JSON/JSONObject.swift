/// The members of a JSON object in the order they were written.
///
/// A text may name a member twice. Both stay, so that the text can be written back, and a look-up finds the first
/// one, as Foundation's decoder does. Names are compared byte by byte: two spellings of "é" are two names.
/// Two objects are equal when they hold equal members, in whatever order.
public struct JSONObject: Sendable {
    /// A name and its value.
    public typealias Element = (name: String, value: JSONValue)

    /// From this many members on a look-up goes through an index.
    private static let indexThreshold = 16

    private var members: [Element]
    private var positions: [JSONExactName: Int]?

    /// Creates an object without members.
    public init() { members = [] }

    /// Creates an object from names and values, keeping their order.
    ///
    /// - Parameter members: The members; a name may occur more than once.
    public init(_ members: some Sequence<Element>) {
        self.members = Array(members)
        rebuildIndex()
    }

    /// The value of the first member with this name, or `nil` when there is none.
    ///
    /// Setting replaces the first one in its place and removes the others; a new name is added at the end, and `nil`
    /// removes the member. To store a JSON null, set `JSONValue.null`.
    ///
    /// - Parameter name: The member's name.
    public subscript(name: String) -> JSONValue? {
        get { position(of: name).map { members[$0].value } }
        set {
            guard let first = position(of: name) else {
                if let newValue { append(name, newValue) }
                return
            }
            let exact = JSONExactName(text: name)
            let count = members.count
            if let newValue { members[first].value = newValue }
            let keptFrom = newValue == nil ? first : first + 1
            members[keptFrom...].removeAll { JSONExactName(text: $0.name) == exact }
            if members.count != count { rebuildIndex() }
        }
    }

    /// The names in order.
    public var names: [String] { members.map(\.name) }

    /// The members that a look-up can find.
    var withoutRepetitions: [Element] {
        members.indices.filter { position(of: members[$0].name) == $0 }.map { members[$0] }
    }

    /// Adds a member at the end, even when the name is there already.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - value: The member's value.
    public mutating func append(_ name: String, _ value: JSONValue) {
        members.append((name, value))
        if positions != nil {
            let exact = JSONExactName(text: name)
            if positions?[exact] == nil { positions?[exact] = members.count - 1 }
        } else {
            rebuildIndex()
        }
    }

    private func position(of name: String) -> Int? {
        let exact = JSONExactName(text: name)
        if let positions { return positions[exact] }
        return members.firstIndex { JSONExactName(text: $0.name) == exact }
    }

    private mutating func rebuildIndex() {
        positions = nil
        guard members.count > Self.indexThreshold else { return }
        positions = Dictionary(
            members.enumerated().map { (JSONExactName(text: $0.element.name), $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}

extension JSONObject: RandomAccessCollection {
    /// The position of the first member.
    public var startIndex: Int { members.startIndex }

    /// The position after the last member.
    public var endIndex: Int { members.endIndex }

    /// The member at a position.
    ///
    /// - Parameter position: A valid position.
    public subscript(position: Int) -> Element { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object from a literal, keeping its order.
    ///
    /// - Parameter elements: Names and values.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements.map { ($0.0, $0.1) }) }
}

extension JSONObject: Hashable {
    /// Compares the members without regard to their order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        if zip(left, right).allSatisfy({ JSONExactName(text: $0.name) == JSONExactName(text: $1.name) }) {
            return zip(left, right).allSatisfy { $0.value == $1.value }
        }
        var counts = Table<JSONMember, Int>()
        for (name, value) in left.members {
            counts.change(JSONMember(name: name, value: value), default: 0) { $0 += 1 }
        }
        return right.members.allSatisfy { name, value in
            counts.change(JSONMember(name: name, value: value), default: 0) {
                $0 -= 1
                return $0 >= 0
            }
        }
    }

    /// Hashes the members without regard to their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(members.reduce(0) { $0 &+ JSONMember(name: $1.name, value: $1.value).hashValue })
    }
}

/// A name that equals another only when their bytes do; `String` also equates canonically equivalent spellings.
private struct JSONExactName: Hashable {
    let text: String

    static func == (left: JSONExactName, right: JSONExactName) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

private struct JSONMember: Hashable {
    let name: JSONExactName
    let value: JSONValue

    @inline(never)
    func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(value)
    }

    init(name: String, value: JSONValue) {
        self.name = JSONExactName(text: name)
        self.value = value
    }
}
