public import Foundation

/// An error in a JSON text, in a path into it, or in the shape that the text is expected to have.
///
/// The description states what to do about it, and never contains a value of the body: names come from the caller's own
/// paths and shapes.
public struct JSONError: Error, Sendable, Hashable {
    /// The reason of a JSON error.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// The text is not JSON as defined by RFC 8259; the associated text is what was expected.
        case syntax(expected: String)
        /// The text ends within a value, or is empty.
        case unexpectedEnd
        /// The value is followed by something other than white space.
        case trailingText
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep(limit: Int)
        /// The bytes are not UTF-8.
        case invalidUTF8
        /// A string contains an unescaped control character.
        case controlCharacter
        /// An object contains this member more than once, in any spelling.
        case duplicateMember(String)
        /// A number does not fit the requested type.
        case numberOutOfRange(type: String)
        /// The member does not exist.
        case missing
        /// The value is `null` where another value is required.
        case null
        /// The value has another type.
        case typeMismatch(expected: String, found: String)
        /// The array has no element at this index.
        case indexOutOfRange(index: Int, count: Int)
        /// A value has the right type, but violates another rule of its shape.
        case violates(rule: String)
        /// An object contains a member that its shape does not list.
        case unexpectedMember
        /// A path has invalid syntax; ``JSONError/offset`` is the position in the path.
        case pathSyntax(String)
    }

    /// The reason of the error.
    public let reason: Reason

    /// The byte offset in the text, or in the path if its syntax is invalid, or `nil` if there is none.
    ///
    /// After a `|json` step, it is relative to the start of the text in the string.
    public let offset: Int?

    /// The path of the value, written as a ``JSONPath``, or `nil` for the text itself.
    public let path: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The reason of the error.
    ///   - offset: The byte offset in the text.
    ///   - path: The path of the value.
    @inline(never)
    public init(_ reason: Reason, offset: Int? = nil, path: String? = nil) {
        self.reason = reason
        self.offset = offset
        self.path = path
    }
}

extension JSONError: CustomStringConvertible, LocalizedError {
    /// One sentence for a log, without any value of the body.
    public var description: String {
        let text = explanation
        // The advice follows the place.
        let end = text.firstRange(of: "; ")?.lowerBound ?? text.endIndex
        return text[..<end] + place + text[end...]
    }

    /// Whether the text is empty.
    var isAboutEmptyText: Bool { reason == .unexpectedEnd && offset == 0 }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }

    private var place: String {
        if isAboutEmptyText { return "" }
        let byte = offset.map { "byte \($0)" }
        guard let path, !path.isEmpty else { return byte.map { " at \($0)" } ?? "" }
        // A missing value has no position of its own.
        return " at \(path)" + (reason == .missing ? "" : byte.map { " (\($0))" } ?? "")
    }

    /// The description for the middle of a sentence.
    var sentence: String {
        let text = description
        // An abbreviation keeps its capitals.
        let isWord = text.dropFirst().first?.isLowercase == true || text.dropFirst().first == " "
        return isWord ? text.prefix(1).lowercased() + text.dropFirst() : text
    }

    private func tooDeep(_ limit: Int) -> String {
        let advice =
            limit < JSONDepth.maximum
            ? "parse it with JSONValue(parsing:maximumDepth:) if the sender is trusted"
            : "deeper nesting can crash Foundation's decoder"
        return "JSON nested deeper than \(limit) levels; \(advice)"
    }

    private var explanation: String {
        switch reason {
        case .syntax(let expected): "Invalid JSON: expected \(expected)"
        case .unexpectedEnd where isAboutEmptyText: "Invalid JSON: the text is empty"
        case .unexpectedEnd: "Invalid JSON: the text ends before the value does; check that the body is complete"
        case .trailingText: "Invalid JSON: there is text after the value"
        case .tooDeep(let limit): tooDeep(limit)
        case .invalidUTF8: "Invalid JSON: the bytes are not UTF-8"
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
    /// Returns the same error with a path that is prefixed by `steps`.
    func inside(_ steps: String) -> JSONError {
        guard let path, !path.isEmpty else { return JSONError(reason, offset: offset, path: steps) }
        let needsDot = !steps.isEmpty && !"[(|".contains(path.prefix(1))
        return JSONError(reason, offset: offset, path: steps + (needsDot ? "." : "") + path)
    }

    /// Returns the same error with a path from the root of the body.
    func atRoot() -> JSONError { JSONError(reason, offset: offset, path: "~" + (path ?? "")) }
}

/// The limits on how deep the arrays and objects of a body may be nested.
enum JSONDepth {
    /// The maximum depth of what the library decodes or validates, unless a function is given another: 128.
    static let standard = 128

    /// The greatest maximum depth: 512.
    ///
    /// Above it, Foundation's decoder can end the process.
    static let maximum = 512

    /// Returns the effective limit, between 1 and ``maximum``.
    static func clamped(_ depth: Int) -> Int { min(max(depth, 1), maximum) }
}
