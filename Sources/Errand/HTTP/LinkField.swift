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
            var rest = Substring(value)[...]
            while let link = next(in: &rest) {
                let relations = link.rel?.lowercased().split(separator: " ") ?? []
                if relations.contains(where: { $0 == relation }) { return link.target }
            }
        }
        return nil
    }

    /// Removes and returns the link at the beginning of a value.
    private static func next(in rest: inout Substring) -> (target: String, rel: String?)? {
        rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
        guard rest.first == "<", let end = rest.firstIndex(of: ">") else { return nil }
        let target = String(rest[rest.index(after: rest.startIndex)..<end])
        rest = rest[rest.index(after: end)...]
        var rel: String?
        while let parameter = parameter(in: &rest) {
            // Only the first of several `rel` parameters is used (section 3.3).
            if parameter.name.lowercased() == "rel", rel == nil { rel = parameter.value }
        }
        return (target, rel)
    }

    /// Removes and returns `; name="value"` at the beginning, or returns `nil` if the next link begins.
    private static func parameter(in rest: inout Substring) -> (name: String, value: String)? {
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.first == ";" else { return nil }
        rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
        let name = rest.prefix { !";,= \t".contains($0) }
        rest = rest[name.endIndex...].drop { $0 == " " || $0 == "\t" }
        guard rest.first == "=" else { return (String(name), "") }
        rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else {
            let value = rest.prefix { !";, \t".contains($0) }
            rest = rest[value.endIndex...]
            return (String(name), String(value))
        }
        rest = rest.dropFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return (String(name), value)
    }
}
