public import Foundation

/// An item of a form that a ``MockServer`` received; see ``MockRequest/formItems``.
public struct MockFormItem: Sendable, Hashable {
    /// The name of the field, or an empty string if the part has none.
    public var name: String
    /// The file name, or `nil` if the item is not a file.
    public var fileName: String?
    /// The `Content-Type` of the part, or `nil` if it has none.
    public var contentType: String?
    /// The bytes of the value.
    public var data: Data

    /// The value as text; bytes that are not UTF-8 become replacement characters.
    public var value: String { String(decoding: data, as: UTF8.self) }

    init(name: String, fileName: String? = nil, contentType: String? = nil, data: Data) {
        (self.name, self.fileName, self.contentType, self.data) = (name, fileName, contentType, data)
    }

    /// Returns the parts of a form (RFC 7578), or `nil` if the type is not `multipart/form-data` with a boundary.
    ///
    /// What follows a part without a delimiter after it is ignored.
    static func parts(of body: Data, contentType: String) -> [MockFormItem]? {
        guard contentType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = parameter("boundary", of: contentType), !boundary.isEmpty
        else { return nil }
        // The first delimiter need not follow a line.
        let text = Data("\r\n".utf8) + body
        let delimiter = Data("\r\n--\(boundary)".utf8)
        var items: [MockFormItem] = []
        var start = text.range(of: delimiter)?.upperBound
        while let begin = start, let end = text.range(of: delimiter, in: begin..<text.endIndex) {
            if let item = MockFormItem(part: text[begin..<end.lowerBound]) { items.append(item) }
            start = end.upperBound
        }
        return items
    }

    /// Reads what is between two delimiters: the end of a line, header fields, an empty line and the content.
    private init?(part: Data) {
        guard let gap = part.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        var fields: [String: String] = [:]
        for line in String(decoding: part[..<gap.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            let field = line.split(separator: ":", maxSplits: 1)
            if field.count == 2 { fields[field[0].lowercased()] = field[1].trimmingCharacters(in: .whitespaces) }
        }
        guard let disposition = fields["content-disposition"] else { return nil }
        self.init(
            name: Self.parameter("name", of: disposition) ?? "",
            fileName: Self.parameter("filename", of: disposition),
            contentType: fields["content-type"],
            data: Data(part[gap.upperBound...])
        )
    }

    /// Returns the value of a parameter, in quotation marks or not, with the escapes of HTML, section 4.10.21.8, decoded.
    private static func parameter(_ wanted: String, of field: String) -> String? {
        // By bytes: a quotation mark and a combining mark after it are one `Character`.
        var rest = field.utf8[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == 0x20 || $0 == 0x09 }
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[name.endIndex...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst()
            let isQuoted = rest.first == UInt8(ascii: "\"")
            if isQuoted { rest = rest.dropFirst() }
            let value = rest.prefix { $0 != (isQuoted ? UInt8(ascii: "\"") : UInt8(ascii: ";")) }
            rest = rest[value.endIndex...]
            guard String(Substring(name)).lowercased() == wanted else { continue }
            return ["%22": "\"", "%0D": "\r", "%0A": "\n"].reduce(String(Substring(value))) { text, escape in
                text.replacingOccurrences(of: escape.key, with: escape.value)
            }
        }
        return nil
    }
}
