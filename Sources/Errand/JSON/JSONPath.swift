/// The way to a value inside a JSON text, in TCNetwork's mini-language.
///
/// | path | leads to |
/// |---|---|
/// | `data.shop.product` | members of members |
/// | `#.total`, `#total`, `total` | the same: from the payload, which is the whole body unless a filter unwraps it |
/// | `~.code`, `~code` | from the whole body |
/// | the empty path, `#`, `~` | the payload, the payload, the whole body |
/// | `list[0]`, `list[-1]` | the first and the last element |
/// | `list(1,8)`, `list(-2,2)`, `list(3,0)` | 8 elements from the second on, the last 2, all from the fourth on |
/// | `list()` | the list, which must be an array |
/// | `list.*.id` | the `id` of every element or member, as one flat array |
/// | `"a.b"."say \"hi\""`, `'a.b'` | names with dots, brackets, quotes, spaces at an end or any of `*`, `?`, `\|` |
/// | `raw\|json.id` | inside the JSON text that the string `raw` holds |
///
/// A range takes at most that many elements, length 0 means all that are left, a negative start counts from the end,
/// and square and round brackets mean the same. An index or a start outside the array is an error, as are a missing
/// member and a step into a null or a scalar; no step is ever skipped. Of a repeated member the first one counts.
///
/// A path written as a literal keeps a mistake and throws it whenever it is used.
public struct JSONPath: Sendable, Hashable {
    /// Where a path starts.
    enum Anchor: Sendable, Equatable {
        case payload
        case root
    }

    /// One step from a value to the next.
    enum Step: Sendable, Equatable {
        case member(JSONName)
        case element(Int)
        case range(start: Int, count: Int)
        case anArray
        case every
        case json
    }

    /// The parts of a path that is written correctly.
    struct Parts: Sendable, Equatable {
        var anchor = Anchor.payload
        var steps: [Step] = []
    }

    /// The payload itself.
    public static let payload = JSONPath(text: "#", parts: .success(Parts(anchor: .payload)))

    /// The whole body.
    public static let root = JSONPath(text: "~", parts: .success(Parts(anchor: .root)))

    private final class Storage: Sendable {
        let text: String
        let parts: Result<Parts, JSONError>

        init(_ text: String, _ parts: Result<Parts, JSONError>) {
            self.text = text
            self.parts = parts
        }
    }

    private let storage: Storage

    private var text: String { storage.text }

    private init(text: String, parts: Result<Parts, JSONError>) { storage = Storage(text, parts) }

    /// Creates a path.
    ///
    /// - Parameter text: The path as described above.
    /// - Throws: `pathSyntax` with the offset of the mistake in `text`.
    public init(_ text: String) throws(JSONError) {
        var parser = JSONPathParser(text)
        self.init(text: text, parts: .success(try parser.parse()))
    }

    /// Creates the path to a member of a member, and so on, from names that need no quotes here.
    ///
    /// - Parameter names: The names from the outside in, as they are.
    public init(names: [String]) {
        self.init(steps: names.map { Step.member(JSONName($0)) })
    }

    /// Creates a path from the payload.
    init(steps: [Step]) { self.init(text: Self.text(of: steps[...]), parts: .success(Parts(steps: steps))) }

    /// Whether this is ``payload`` as it stands there.
    var isPayload: Bool { text == Self.payload.text }

    /// The anchor and the steps, or the mistake in them.
    func get() throws(JSONError) -> Parts { try storage.parts.get() }

    /// Whether both are written the same.
    public static func == (one: JSONPath, other: JSONPath) -> Bool { one.text == other.text }

    /// Hashes the path as it is written.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension JSONPath: ExpressibleByStringLiteral {
    /// Creates a path; a mistake in it is thrown when the path is used.
    ///
    /// - Parameter value: The path.
    public init(stringLiteral value: String) {
        self.init(
            text: value,
            parts: Result { () throws(JSONError) in
                var parser = JSONPathParser(value)
                return try parser.parse()
            }
        )
    }
}

extension JSONPath: CustomStringConvertible {
    /// The path as it was written.
    public var description: String { text }

    /// The text of some steps, without a dot in front.
    static func text(of steps: ArraySlice<Step>) -> String {
        var text = ""
        for step in steps {
            switch step {
            case .member(let name): text += (text.isEmpty ? "" : ".") + JSONPathParser.spelling(of: name.text)
            case .element(let index): text += "[\(index)]"
            case .range(let start, let count): text += "(\(start),\(count))"
            case .anArray: text += "()"
            case .every: text += text.isEmpty ? "*" : ".*"
            case .json: text += "|json"
            }
        }
        return text
    }
}
