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
