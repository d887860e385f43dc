public import Foundation

extension JSONValue {
    /// The value as compact JSON: UTF-8, members in order, numbers as written.
    public var data: Data { Data(utf8Text) }

    /// The bytes of ``data``.
    var utf8Text: [UInt8] {
        var text = JSONText()
        text.write(self)
        return Array(text.bytes)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String { String(decoding: utf8Text, as: UTF8.self) }
}

extension JSONValue {
    /// Appends the value with a line for each member and element, until the text has more bytes than the limit.
    func layOut(in text: inout String, upTo limit: Int, indent: String = "") {
        let parts: [(name: String, value: JSONValue)] =
            switch self {
            case .array(let elements): elements.map { ("", $0) }
            case .object(let members): members.map { ("\(JSONValue.string($0.name)): ", $0.value) }
            default: []
            }
        guard !parts.isEmpty else {
            text += description
            return
        }
        let inner = indent + "  "
        text += array == nil ? "{" : "["
        for (number, part) in parts.enumerated() where text.utf8.count <= limit {
            text += (number > 0 ? ",\n" : "\n") + inner + part.name
            part.value.layOut(in: &text, upTo: limit, indent: inner)
        }
        text += "\n" + indent + (array == nil ? "}" : "]")
    }
}
