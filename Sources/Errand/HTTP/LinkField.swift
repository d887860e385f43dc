/// The `Link` field of a response (RFC 8288, section 3): `<https://api.example/x?page=2>; rel="next", <…>; rel="last"`.
enum LinkField {
    /// Returns the target of the first link with a relation.
    ///
    /// - Parameters:
    ///   - relation: The relation in lower case; a link may have several, separated by spaces and in any case.
    ///   - values: The values of the fields, in order. A malformed link and all that follows it in its field are
    ///     ignored.
    /// - Returns: The target as written, or `nil` if there is none.
    static func target(rel relation: String, in values: [String]) -> String? {
        for value in values {
            var rest = Substring(value).utf8
            while let link = next(in: &rest) {
                let relations = link.rel?.lowercased().split(separator: " ") ?? []
                if relations.contains(where: { $0 == relation }) { return link.target }
            }
        }
        return nil
    }

    /// Removes and returns the link at the beginning of a value.
    private static func next(in rest: inout Substring.UTF8View) -> (target: String, rel: String?)? {
        rest = rest.drop { ", \t".utf8.contains($0) }
        guard rest.first == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let target = text(rest[..<end].dropFirst())
        rest = rest[end...].dropFirst()
        var rel: String?
        while let parameter = parameter(in: &rest) {
            // Only the first of several `rel` parameters is used (section 3.3).
            if parameter.name.lowercased() == "rel", rel == nil { rel = parameter.value }
        }
        return (target, rel)
    }

    /// Removes and returns `; name="value"` at the beginning, or returns `nil` if the next link begins.
    private static func parameter(in rest: inout Substring.UTF8View) -> (name: String, value: String)? {
        let isSpace: (UInt8) -> Bool = { " \t".utf8.contains($0) }
        rest = rest.drop(while: isSpace)
        guard rest.first == UInt8(ascii: ";") else { return nil }
        rest = rest.dropFirst().drop(while: isSpace)
        let name = rest.prefix { !";,= \t".utf8.contains($0) }
        rest = rest[name.endIndex...].drop(while: isSpace)
        guard rest.first == UInt8(ascii: "=") else { return (text(name), "") }
        rest = rest.dropFirst().drop(while: isSpace)
        let quote = UInt8(ascii: "\"")
        guard rest.first == quote else {
            let value = rest.prefix { !";, \t".utf8.contains($0) }
            rest = rest[value.endIndex...]
            return (text(name), text(value))
        }
        rest = rest.dropFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst(), byte != quote {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return (text(name), String(decoding: value, as: UTF8.self))
    }

    private static func text(_ bytes: Substring.UTF8View) -> String { String(Substring(bytes)) }
}
