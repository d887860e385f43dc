internal import Foundation

/// The `Link` field of a response (RFC 8288, section 3): `<https://api.example/x?page=2>; rel="next", <…>; rel="last"`.
enum LinkField {
    /// A field that doesn't follow the grammar, so that links in it may be unknown.
    struct Malformed: Error {}

    /// Returns the target of the first link of a resource with a relation.
    ///
    /// Semicolons may separate links, and apostrophes or nothing may surround a parameter, as some servers write it: each has
    /// one reading.
    ///
    /// - Parameters:
    ///   - relation: The relation in lower case; a link may have several, separated by spaces and in any case.
    ///   - values: The values of the fields, in order.
    ///   - url: The URL of the response, the context of a link without an anchor; links of another context are skipped
    ///     (section 3.2).
    /// - Returns: The target as written, or `nil` if there is none.
    /// - Throws: ``Malformed`` if there is none in what can be read, and not all can.
    static func target(rel relation: String, in values: [String], from url: URL) throws(Malformed) -> String? {
        var failure: Malformed?
        for value in values {
            var cursor = FieldCursor(value)
            do throws(Malformed) {
                while let link = try next(in: &cursor) {
                    let relations = link.rel?.lowercased().split(separator: " ") ?? []
                    if relations.contains(where: { $0 == relation }),
                        link.anchor.map({ URLParts.leads($0, to: url) }) ?? true
                    {
                        return link.target
                    }
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
        return nil
    }

    /// Reads the next link of a value, or returns `nil` at its end.
    private static func next(
        in cursor: inout FieldCursor
    ) throws(Malformed) -> (target: String, rel: String?, anchor: String?)? {
        cursor.skip { $0.isFieldSpace || $0 == UInt8(ascii: ",") }
        if cursor.isAtEnd, !cursor.hasOpenQuote { return nil }
        guard cursor.take(UInt8(ascii: "<")) else { throw Malformed() }
        // A second `<` shows that the first one was not closed.
        let target = cursor.text { $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "<") }
        guard cursor.take(UInt8(ascii: ">")) else { throw Malformed() }
        var rel: String?
        var anchor: String?
        while true {
            cursor.skipSpace()
            guard cursor.take(UInt8(ascii: ";")) else { return (target, rel, anchor) }
            cursor.skipSpace()
            let name = cursor.text { !";,<= \t".utf8.contains($0) }.lowercased()
            cursor.skipSpace()
            guard cursor.take(UInt8(ascii: "=")) else { continue }
            var value = cursor.value(upTo: ";,<")
            if value.utf8.count > 1, value.hasPrefix("'"), value.hasSuffix("'") {
                value = String(value.dropFirst().dropLast())
            }
            // Only the first of several `rel` parameters is used (section 3.3).
            switch name {
            case "rel": rel = rel ?? value
            case "anchor": anchor = anchor ?? value
            default: break
            }
        }
    }
}
