/// The `Link` field of an answer (RFC 8288, section 3): `<https://api.example/x?page=2>; rel="next", <…>; rel="last"`.
enum LinkField {
    /// Finds the first link with a relation.
    ///
    /// - Parameters:
    ///   - relation: Compared without regard to case; one link may have several, with spaces between.
    ///   - values: The values of the fields, in order. What is malformed ends its field and says nothing.
    /// - Returns: The target as it is written; `nil` when there is none.
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

    /// Takes a link off the front of a value.
    private static func next(in rest: inout Substring) -> (target: String, rel: String?)? {
        rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
        guard rest.first == "<", let end = rest.firstIndex(of: ">") else { return nil }
        let target = String(rest[rest.index(after: rest.startIndex)..<end])
        rest = rest[rest.index(after: end)...]
        var rel: String?
        while let parameter = parameter(in: &rest) {
            // Of several the first counts (section 3.3).
            if parameter.name.lowercased() == "rel", rel == nil { rel = parameter.value }
        }
        return (target, rel)
    }

    /// Takes `; name="value"` off the front; `nil` where the next link begins.
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
