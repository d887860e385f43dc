internal import Foundation

/// The `Link` field of a response (RFC 8288, section 3): `<https://api.example/x?page=2>; rel="next", <…>; rel="last"`.
enum LinkField {
    /// Returns the target of the first link of a resource with a relation.
    ///
    /// - Parameters:
    ///   - relation: The relation in lower case; a link may have several, separated by spaces and in any case.
    ///   - values: The values of the fields, in order. A malformed link and all that follows it in its field are
    ///     ignored.
    ///   - url: The URL of the response, the context of a link without an anchor; links of another context are skipped
    ///     (section 3.2).
    /// - Returns: The target as written, or `nil` if there is none.
    static func target(rel relation: String, in values: [String], from url: URL) -> String? {
        for value in values {
            var rest = Substring(value).utf8
            while let link = next(in: &rest) {
                let relations = link.rel?.lowercased().split(separator: " ") ?? []
                if relations.contains(where: { $0 == relation }), link.anchor.map({ leads($0, to: url) }) ?? true {
                    return link.target
                }
            }
        }
        return nil
    }

    /// Whether an anchor is the URL of the response in any spelling.
    private static func leads(_ anchor: String, to url: URL) -> Bool {
        // An empty reference is the URL itself, and Foundation has no such URL.
        guard !anchor.isEmpty else { return true }
        guard let context = URL(string: anchor, relativeTo: url)?.absoluteURL else { return false }
        return context.fragment == nil && context.origin == url.origin
            && context.path(percentEncoded: true) == url.path(percentEncoded: true)
            && context.query(percentEncoded: true) == url.query(percentEncoded: true)
    }

    /// Removes and returns the link at the beginning of a value.
    private static func next(
        in rest: inout Substring.UTF8View
    ) -> (target: String, rel: String?, anchor: String?)? {
        rest = rest.drop { ", \t".utf8.contains($0) }
        guard rest.first == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let target = text(rest[..<end].dropFirst())
        rest = rest[end...].dropFirst()
        var rel: String?
        var anchor: String?
        while let parameter = parameter(in: &rest) {
            // Only the first of several `rel` parameters is used (section 3.3).
            switch parameter.name.lowercased() {
            case "rel": rel = rel ?? parameter.value
            case "anchor": anchor = anchor ?? parameter.value
            default: break
            }
        }
        return (target, rel, anchor)
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
