/// What is wrong with a JSON text, with a path into it, or with the shape it was expected to have.
///
/// The description says what to do about it and never contains a value of the body: names come from the caller's
/// own paths and shapes.
public struct JSONError: Error, Sendable, Hashable {
    /// One case for each thing a caller can learn.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// The text breaks the grammar of RFC 8259; the text says what was expected.
        case syntax(expected: String)
        /// The text ends inside a value, or holds none.
        case unexpectedEnd
        /// Something other than white space follows the value.
        case trailingText
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep(limit: Int)
        /// The bytes are not UTF-8, or begin with a byte order mark.
        case invalidUTF8
        /// A `\u` escape names one half of a surrogate pair.
        case loneSurrogate
        /// A string holds a control character that is not escaped.
        case controlCharacter
        /// An object holds this member more than once, in whatever spelling.
        case duplicateMember(String)
        /// A number does not fit the type that was asked for.
        case numberOutOfRange(type: String)
        /// There is no such member.
        case missing
        /// The value is `null` where one was required.
        case null
        /// The value is of another type.
        case typeMismatch(expected: String, found: String)
        /// The array has no such element.
        case indexOutOfRange(index: Int, count: Int)
        /// A value is of the right type and breaks another rule of its shape.
        case violates(rule: String)
        /// An object holds a member that its shape does not know.
        case unexpectedMember
        /// A path is written wrongly; ``JSONError/offset`` is the position in the path.
        case pathSyntax(String)
    }

    /// What happened.
    public let reason: Reason

    /// The byte offset in the text, or in the path when that is what is wrong; `nil` when there is none.
    ///
    /// Behind a `|json` step it counts from the start of the text that the string holds.
    public let offset: Int?

    /// The way to the value, spelled as a ``JSONPath``; `nil` when the whole text is meant.
    public let path: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: What happened.
    ///   - offset: The byte offset in the text.
    ///   - path: The way to the value.
    @inline(never)
    public init(_ reason: Reason, offset: Int? = nil, path: String? = nil) {
        self.reason = reason
        self.offset = offset
        self.path = path
    }
}

extension JSONError: CustomStringConvertible {
    /// One sentence for a log, without any value of the body.
    public var description: String {
        var text = explanation
        if let path, !path.isEmpty { text += ", at \(path)" }
        if let offset { text += path == nil ? ", at byte \(offset)" : " (byte \(offset))" }
        return text
    }

    private func tooDeep(_ limit: Int) -> String {
        let advice =
            limit < 512
            ? "parse it with JSONValue(parsing:maximumDepth:) if the sender is trusted"
            : "this is more than Foundation's decoder survives"
        return "JSON nested deeper than \(limit) levels; \(advice)"
    }

    private var explanation: String {
        switch reason {
        case .syntax(let expected): "Invalid JSON: expected \(expected)"
        case .unexpectedEnd: "Invalid JSON: the text ends before the value does; check that the body is complete"
        case .trailingText: "Invalid JSON: there is text after the value"
        case .tooDeep(let limit): tooDeep(limit)
        case .invalidUTF8: "Invalid JSON: the bytes are not UTF-8 without a byte order mark"
        case .loneSurrogate: "Invalid JSON: a \\u escape is half a surrogate pair"
        case .controlCharacter: "Invalid JSON: a control character in a string must be escaped"
        case .duplicateMember(let name): "The member \"\(name)\" occurs more than once, so its value is ambiguous"
        case .numberOutOfRange(let type): "A number does not fit \(type); ask for a wider type or a JSONNumber"
        case .missing: "A value is missing; ask for an optional if it may be absent"
        case .null: "A value is null; ask for an optional if it may be"
        case .typeMismatch(let expected, let found): "Expected \(expected), found \(found)"
        case .indexOutOfRange(let index, let count): "Index \(index) is out of range: the array has \(count) elements"
        case .violates(let rule): "A value breaks a rule of its shape: \(rule)"
        case .unexpectedMember: "An object has a member that its shape does not list"
        case .pathSyntax(let what): "Invalid JSON path: \(what)"
        }
    }
}

extension JSONError {
    /// The same error, `steps` further inside.
    func inside(_ steps: String) -> JSONError {
        guard let path, !path.isEmpty else { return JSONError(reason, offset: offset, path: steps) }
        let needsDot = !steps.isEmpty && !"[(|".contains(path.prefix(1))
        return JSONError(reason, offset: offset, path: steps + (needsDot ? "." : "") + path)
    }

    /// The same error, its path spelled from the whole body.
    func atRoot() -> JSONError { JSONError(reason, offset: offset, path: "~" + (path ?? "")) }
}
