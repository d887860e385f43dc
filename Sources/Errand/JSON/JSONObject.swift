/// The members of a JSON object in the order in which they were written.
///
/// A text may repeat a member's name. All such members are kept, so that the text can be written back, and a look-up
/// returns the first one, as in Foundation's decoder. Names are compared byte by byte: two spellings of "é" are
/// different names. Two objects are equal if they have equal members, in any order.
public struct JSONObject: Sendable {
    /// A name and its value.
    public typealias Element = (name: String, value: JSONValue)

    /// The number of members from which a look-up uses an index.
    private static let indexThreshold = 16

    private var members: [Element]
    private var positions: [JSONExactName: Int]?

    /// Creates an object without members.
    public init() { members = [] }

    /// Creates an object from names and values, preserving their order.
    ///
    /// - Parameter members: The members; a name may occur more than once.
    public init(_ members: some Sequence<Element>) {
        self.members = Array(members)
        rebuildIndex()
    }

    /// The value of the first member with a name, or `nil` if there is none.
    ///
    /// Setting it replaces the first such member in its position and removes the others; a new name is added at the
    /// end, and `nil` removes the member. To store a JSON null, set `JSONValue.null`.
    ///
    /// - Parameter name: The member's name.
    public subscript(name: String) -> JSONValue? {
        get { position(of: name).map { members[$0].value } }
        set {
            guard let first = position(of: name) else {
                if let newValue { append(name, newValue) }
                return
            }
            let exact = JSONExactName(name)
            let count = members.count
            if let newValue { members[first].value = newValue }
            let keptFrom = newValue == nil ? first : first + 1
            members[keptFrom...].removeAll { JSONExactName($0.name) == exact }
            if members.count != count { rebuildIndex() }
        }
    }

    /// The names, in order.
    public var names: [String] { members.map(\.name) }

    /// The members that a look-up can return.
    var withoutRepetitions: [Element] {
        members.indices.filter { position(of: members[$0].name) == $0 }.map { members[$0] }
    }

    /// Adds a member at the end, even if its name already exists.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - value: The member's value.
    public mutating func append(_ name: String, _ value: JSONValue) {
        members.append((name, value))
        if positions != nil {
            let exact = JSONExactName(name)
            if positions?[exact] == nil { positions?[exact] = members.count - 1 }
        } else {
            rebuildIndex()
        }
    }

    private func position(of name: String) -> Int? {
        let exact = JSONExactName(name)
        if let positions { return positions[exact] }
        return members.firstIndex { JSONExactName($0.name) == exact }
    }

    private mutating func rebuildIndex() {
        positions = nil
        guard members.count > Self.indexThreshold else { return }
        positions = Dictionary(
            members.enumerated().map { (JSONExactName($0.element.name), $0.offset) },
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
    /// Creates an object from a literal, preserving its order.
    ///
    /// - Parameter elements: The names and values.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements.map { ($0.0, $0.1) }) }
}

extension JSONObject: Hashable {
    /// Returns whether two objects have equal members, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        if zip(left, right).allSatisfy({ JSONExactName($0.name) == JSONExactName($1.name) }) {
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

    /// Hashes the members independently of their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(members.reduce(0) { $0 &+ JSONMember(name: $1.name, value: $1.value).hashValue })
    }
}

/// A name that is compared by its bytes, because `String` treats canonically equivalent spellings as equal.
struct JSONExactName: Hashable {
    let text: String

    @inline(__always)
    init(_ text: String) { self.text = text }

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
        self.name = JSONExactName(name)
        self.value = value
    }
}
