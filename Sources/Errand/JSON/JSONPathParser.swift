/// Parses the text of a ``JSONPath``.
///
/// ```
/// path  = [ "#" | "~" ] [ "." ] [ step *( "." step ) ]      ; the first dot only after "#" or "~"
/// step  = ( name | "*" ) *sub / 1*sub
/// name  = bare / quoted
/// sub   = "[" body "]" / "(" body ")" / "()" / "|json"
/// body  = int / [ int ] "," [ int ]
/// ```
struct JSONPathParser {
    /// The characters that end an unquoted name or are not allowed in it.
    private static let reserved = Array(".[]()|*?\"".utf8)

    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns a name as written in a path, with quotes if they are required.
    static func spelling(of name: String) -> String {
        let utf8 = name.utf8
        let isPlain =
            !utf8.isEmpty && utf8.allSatisfy { $0 >= 0x20 && !reserved.contains($0) }
            && !"#~' ".utf8.contains(utf8.first ?? 0) && utf8.last != UInt8(ascii: " ")
        if isPlain { return name }
        // Compares bytes, because a quote and a combining mark after it are one Character.
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append(byte)
        }
        return String(decoding: quoted + [UInt8(ascii: "\"")], as: UTF8.self)
    }

    mutating func parse() throws(JSONError) -> JSONPath.Parts {
        var parts = JSONPath.Parts()
        if bytes.first == UInt8(ascii: ".") {
            throw failure("a path cannot start with a dot; write ~ for the whole body, # or nothing for the payload")
        }
        let hasAnchor = take("~") || take("#")
        if hasAnchor, bytes[0] == UInt8(ascii: "~") { parts.anchor = .root }
        if index == bytes.count { return parts }
        if hasAnchor { _ = take(".") }
        repeat { try readStep(into: &parts.steps) } while take(".")
        guard index == bytes.count else { throw failure("expected a dot, a subscript or the end") }
        return parts
    }

    private mutating func readStep(into steps: inout [JSONPath.Step]) throws(JSONError) {
        let start = index
        if take("*") {
            steps.append(.every)
        } else if let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            steps.append(.member(JSONName(try quotedName(quote))))
        } else if let name = try bareName() {
            steps.append(.member(JSONName(name)))
        }
        while let sub = try subscription() { steps.append(sub) }
        if index == start { throw failure("expected a name, a subscript or *; names with . [ ] ( ) | * ? need quotes") }
    }

    private mutating func bareName() throws(JSONError) -> String? {
        let start = index
        while let byte = next, !Self.reserved.contains(byte) {
            if byte < 0x20 { throw failure("a name with a control character needs quotes") }
            index += 1
        }
        let name = bytes[start..<index]
        if name.isEmpty { return nil }
        if next == UInt8(ascii: "?") { throw failure("a path has no flags; a name with ? needs quotes") }
        if name.first == UInt8(ascii: " ") || name.last == UInt8(ascii: " ") {
            throw failure("a name that begins or ends with a space needs quotes", at: start)
        }
        if name.first == UInt8(ascii: "#") || name.first == UInt8(ascii: "~") {
            throw failure("# and ~ stand only before the first name; names that begin so need quotes", at: start)
        }
        return String(decoding: name, as: UTF8.self)
    }

    private mutating func quotedName(_ quote: UInt8) throws(JSONError) -> String {
        let start = index
        var name: [UInt8] = []
        index += 1
        while let byte = next {
            index += 1
            if byte == quote { return String(decoding: name, as: UTF8.self) }
            if byte != UInt8(ascii: "\\") {
                name.append(byte)
                continue
            }
            guard let escaped = next, escaped == quote || escaped == byte else {
                throw failure("a backslash is only allowed before the quote or another backslash", at: index - 1)
            }
            name.append(escaped)
            index += 1
        }
        throw failure("a quoted name is not closed", at: start)
    }

    private mutating func subscription() throws(JSONError) -> JSONPath.Step? {
        let start = index
        if take("|") {
            for byte in "json".utf8 {
                guard next == byte else { throw failure("the only word after | is json", at: start) }
                index += 1
            }
            return .json
        }
        guard take("[") || take("(") else { return nil }
        let isRound = bytes[start] == UInt8(ascii: "(")
        let close: StaticString = isRound ? ")" : "]"
        if isRound, take(")") { return .anArray }
        let first = try integer()
        guard take(",") else {
            guard let first else { throw failure("expected an index or a range") }
            guard take(close) else { throw failure("expected \(close) or a comma") }
            return .element(first)
        }
        let countStart = index
        let count = try integer() ?? 0
        guard count >= 0 else { throw failure("a length must be 0, for all that remain, or more", at: countStart) }
        guard take(close) else { throw failure("expected \(close)") }
        return .range(start: first ?? 0, count: count)
    }

    /// Parses the integer at ``index``, with optional spaces around it, or returns `nil` if there is none.
    private mutating func integer() throws(JSONError) -> Int? {
        while take(" ") {}
        let start = index
        _ = take("-")
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
        let digits = String(decoding: bytes[start..<index], as: UTF8.self)
        while take(" ") {}
        if digits.isEmpty { return nil }
        guard let value = Int(digits), value != .min else { throw failure("this number is out of range", at: start) }
        return value
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ character: StaticString) -> Bool {
        guard next == character.utf8Start.pointee else { return false }
        index += 1
        return true
    }

    private func failure(_ what: String, at offset: Int? = nil) -> JSONError {
        JSONError(.pathSyntax(what), offset: offset ?? index)
    }
}
