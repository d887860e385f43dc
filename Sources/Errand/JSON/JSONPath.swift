/// The path of a value in a JSON text, in TCNetwork's mini-language.
///
/// | path | leads to |
/// |---|---|
/// | `data.shop.product` | members of members |
/// | `#.total`, `#total`, `total` | the same: from the payload, which is the complete body unless a filter unwraps it |
/// | `~.code`, `~code` | from the complete body |
/// | the empty path, `#`, `~` | the payload, the payload, the complete body |
/// | `list[0]`, `list[-1]` | the first and the last element |
/// | `list(1,8)`, `list(-2,2)`, `list(3,0)` | 8 elements from the second on, the last 2, all from the fourth on |
/// | `list()` | the list, which must be an array |
/// | `list.*.id` | the `id` of every element or member, as one flat array |
/// | `"a.b"."say \"hi\""`, `'a.b'` | names with dots, brackets, quotes, spaces at an end or any of `*`, `?`, `\|` |
/// | `raw\|json.id` | inside the JSON text that the string `raw` contains |
///
/// No step is ever skipped: a missing member, an index outside the array, a start past its end, and a step into a null
/// or a scalar are errors. A range returns at most that number of elements; length 0 means all that remain. A negative
/// start counts from the end; a start before the first element means the first. A range that starts at the end is
/// empty. Square and round brackets are equivalent. If a member is repeated, the first one is used.
///
/// If a path written as a literal has invalid syntax, the error is thrown whenever the path is used.
public struct JSONPath: Sendable, Hashable {
    /// The start of a path.
    package enum Anchor: Sendable, Equatable {
        case payload
        case root
    }

    /// One step from a value to the next.
    package enum Step: Sendable, Equatable {
        case member(JSONName)
        case element(Int)
        case range(start: Int, count: Int)
        case anArray
        case every
        case json
    }

    /// The components of a path with valid syntax.
    package struct Parts: Sendable, Equatable {
        package var anchor = Anchor.payload
        package var steps: [Step] = []
    }

    /// The payload itself.
    public static let payload = JSONPath(text: "#", parts: .success(Parts(anchor: .payload)))

    /// The complete body.
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
    /// - Throws: `pathSyntax` with the offset of the error in `text`.
    public init(_ text: String) throws(JSONError) {
        var parser = JSONPathParser(text)
        self.init(text: text, parts: .success(try parser.parse()))
    }

    /// Creates the path of a member, from the names of the members that lead to it.
    ///
    /// - Parameter names: The names from the outside in, without quotes or escapes.
    public init(names: [String]) {
        self.init(steps: names.map { Step.member(JSONName($0)) })
    }

    /// Creates a path from the payload.
    init(steps: [Step]) { self.init(text: Self.text(of: steps[...]), parts: .success(Parts(steps: steps))) }

    /// Whether this is ``payload``, in the same spelling.
    var isPayload: Bool { text == Self.payload.text }

    /// Returns the anchor and the steps, or throws the syntax error.
    package func get() throws(JSONError) -> Parts { try storage.parts.get() }

    /// Returns whether both paths have the same text, byte by byte as the names of members are compared.
    public static func == (one: JSONPath, other: JSONPath) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

    /// Hashes the text of the path.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension JSONPath: ExpressibleByStringLiteral {
    /// Creates a path from a literal; a syntax error is thrown when the path is used.
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
    /// The path as written.
    public var description: String { text }

    /// Returns the text of some steps, without a leading dot.
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
