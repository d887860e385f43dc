/// An ordered list of header fields, whose names are compared ignoring case and may repeat.
///
/// Names and values are validated when a request is built: a name must be an RFC 9110 token, and a value must not
/// contain CR, LF, NUL or another control character except tab. Invalid fields cause an error and are never dropped
/// silently.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    /// One field line.
    public struct Field: Sendable, Hashable {
        /// The name as written; two names that differ only in ASCII case are equal.
        public var name: String
        /// The value, without surrounding white space, which is not part of it (RFC 9110, section 5.5).
        public var value: String { didSet { value = value.withoutSurroundingSpace } }

        /// Creates a field from a name and a value, which are validated when a request is built.
        public init(name: String, value: String) {
            self.name = name
            self.value = value.withoutSurroundingSpace
        }

        /// Whether the names are equal ignoring ASCII case, and the values are identical.
        public static func == (one: Field, other: Field) -> Bool {
            one.value == other.value && one.name.isSameFieldName(as: other.name)
        }

        /// Hashes the lowercase name and the value.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(name.lowercased())
            hasher.combine(value)
        }
    }

    /// Reads the header fields of a response on first access, because that is expensive and most responses are only
    /// decoded.
    private typealias Source = Lock<Result<[Field], Unread>>

    private struct Unread: Error { let read: @Sendable () -> [Field] }

    /// The fields, unless there is a source.
    private var own: [Field]
    private var source: Source?

    private var fields: [Field] {
        guard let source else { return own }
        return source.withLock { state in
            switch state {
            case .success(let fields): return fields
            case .failure(let unread):
                let fields = unread.read()
                state = .success(fields)
                return fields
            }
        }
    }

    /// Creates an empty list.
    public init() { own = [] }

    /// Creates a list that is read on first access.
    package init(reading read: @escaping @Sendable () -> [Field]) {
        own = []
        source = Source(.failure(Unread(read: read)))
    }

    /// Creates a list from name-value pairs, preserving their order and repeated names.
    public init(dictionaryLiteral elements: (String, String)...) {
        own = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Creates a list from fields, preserving their order.
    public init(_ fields: some Sequence<Field>) { own = Array(fields) }

    /// Creates a list from a dictionary, sorted by name so that the order is deterministic.
    public init(_ dictionary: [String: String]) {
        own = dictionary.sortedUnspecialized { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) }
    }

    /// The value of a field, or `nil` if there is none.
    ///
    /// Reading joins several lines of one name by `", "` (RFC 9110, section 5.3), lines of `Cookie` by `"; "` (RFC 6265,
    /// section 5.4). Writing replaces all lines of the name by one, at the position of the first; writing `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            var found: String?
            var more: [String] = []
            for field in fields where field.name.isSameFieldName(as: name) {
                if found == nil { found = field.value } else { more.append(field.value) }
            }
            guard !more.isEmpty, let first = found else { return found }
            return ([first] + more).joined(separator: Self.separator(of: name))
        }
        set {
            settle()
            guard let newValue else {
                own.removeAll { $0.name.isSameFieldName(as: name) }
                return
            }
            guard let place = own.firstIndex(where: { $0.name.isSameFieldName(as: name) }) else {
                own.append(Field(name: name, value: newValue))
                return
            }
            own[place] = Field(name: name, value: newValue)
            guard own[(place + 1)...].contains(where: { $0.name.isSameFieldName(as: name) }) else { return }
            let later = own[(place + 1)...].filter { !$0.name.isSameFieldName(as: name) }
            own.replaceSubrange((place + 1)..., with: later)
        }
    }

    /// Returns the separator for several lines of one name.
    private static func separator(of name: String) -> String { name.isSameFieldName(as: "Cookie") ? "; " : ", " }

    /// Returns the values of all lines of a name, in order, or an empty array if there is none.
    ///
    /// A line may contain several `Link` values, or several challenges of `WWW-Authenticate` or `Proxy-Authenticate`. These are
    /// split into one value each; commas in quoted strings and URLs remain part of their value. The lines of other fields are
    /// returned unchanged. A line of `Set-Cookie` is one cookie (RFC 6265, section 5.2): ``URLSessionTransport`` splits lines
    /// that URLSession joins with commas.
    public func values(for name: String) -> [String] {
        let lines = fields.filter { $0.name.isSameFieldName(as: name) }.map(\.value)
        guard let list = FieldList(name), !lines.isEmpty else { return lines }
        return lines.flatMap(list.values)
    }

    /// Returns whether at least one line has a name.
    public func contains(_ name: String) -> Bool { fields.contains { $0.name.isSameFieldName(as: name) } }

    /// Adds a line without removing lines of the same name.
    public mutating func add(_ name: String, _ value: String) {
        settle()
        own.append(Field(name: name, value: value))
    }

    /// Merges another list into this one; its lines are appended and replace all lines of the same names.
    public mutating func merge(_ other: HTTPHeaders) {
        guard !other.isEmpty else { return }
        guard !isEmpty else {
            self = other
            return
        }
        settle()
        let new = other.fields
        if new.count <= FieldNames.few {
            own.removeAll { field in new.contains { $0.name.isSameFieldName(as: field.name) } }
        } else {
            let replaced = FieldNames(new.map(\.name))
            own.removeAll { replaced.contains($0.name) }
        }
        own.append(contentsOf: new)
    }

    /// The fields with one line for each name, in the order in which the names first appear.
    var combined: [Field] {
        let fields = self.fields
        var isRepeated = false
        if fields.count <= 16 {
            for (index, field) in fields.enumerated() where !isRepeated {
                isRepeated = fields[..<index].contains { $0.name.isSameFieldName(as: field.name) }
            }
            if !isRepeated { return fields }
        }
        var places: [String: Int] = [:]
        var lines: [(name: String, values: [String])] = []
        for field in fields {
            let key = field.name.fieldNameKey
            if let place = places[key] {
                lines[place].values.append(field.value)
            } else {
                places[key] = lines.count
                lines.append((field.name, [field.value]))
            }
        }
        return lines.map { line in
            Field(name: line.name, value: line.values.joined(separator: Self.separator(of: line.name)))
        }
    }

    /// Reads the fields from the source, so that they can be changed.
    private mutating func settle() {
        guard source != nil else { return }
        own = fields
        source = nil
    }

    /// Returns this list merged with another, as ``merge(_:)`` does.
    public func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        var merged = self
        merged.merge(other)
        return merged
    }

    /// Returns the lines that satisfy a predicate, without an access by index for each.
    @inline(never)
    func filter(_ isIncluded: (Field) throws -> Bool) rethrows -> [Field] { try fields.filter(isIncluded) }

    /// Returns an iterator over the lines.
    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }

    /// The position of the first line, which is 0.
    public var startIndex: Int { 0 }
    /// The position after the last line, which is the number of lines.
    public var endIndex: Int { fields.count }
    /// The line at a position in 0..<`count`; any other position traps.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: Hashable {
    /// Whether both lists have the same lines in the same order.
    public static func == (one: HTTPHeaders, other: HTTPHeaders) -> Bool { one.fields == other.fields }

    /// Hashes the lines.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

extension HTTPHeaders: CustomStringConvertible {
    /// The names only, because a value may be secret.
    public var description: String { "[\(fields.map(\.name).joined(separator: ", "))]" }
}
