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
            var cursor = FieldCursor(value)
            while let link = next(in: &cursor) {
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

    /// Reads the next link of a value.
    private static func next(in cursor: inout FieldCursor) -> (target: String, rel: String?, anchor: String?)? {
        cursor.skip { $0.isFieldSpace || $0 == UInt8(ascii: ",") }
        guard cursor.take(UInt8(ascii: "<")) else { return nil }
        let target = cursor.text { $0 != UInt8(ascii: ">") }
        guard cursor.take(UInt8(ascii: ">")) else { return nil }
        var rel: String?
        var anchor: String?
        while true {
            cursor.skipSpace()
            guard cursor.take(UInt8(ascii: ";")) else { return (target, rel, anchor) }
            cursor.skipSpace()
            let name = cursor.text { !";,= \t".utf8.contains($0) }.lowercased()
            cursor.skipSpace()
            let value = cursor.take(UInt8(ascii: "=")) ? cursor.value(upTo: ";, \t") : ""
            // Only the first of several `rel` parameters is used (section 3.3).
            switch name {
            case "rel": rel = rel ?? value
            case "anchor": anchor = anchor ?? value
            default: break
            }
        }
    }
}
