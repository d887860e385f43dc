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
    /// The value with a line for each member and element; arrays of scalars, and what is more than eight levels deep, are compact.
    func laidOut(_ indent: String = "") -> String {
        let inner = indent + "  "
        var parts: [String] = []
        if indent.utf8.count < 16, array?.contains(where: { $0.array != nil || $0.object != nil }) != false {
            parts += (array ?? []).map { $0.laidOut(inner) }
            parts += (object ?? [:]).map { "\(JSONValue.string($0.name)): \($0.value.laidOut(inner))" }
        }
        if parts.isEmpty { return description }
        let lines = parts.map { "\n" + inner + $0 }.joined(separator: ",") + "\n" + indent
        return array == nil ? "{\(lines)}" : "[\(lines)]"
    }
}
