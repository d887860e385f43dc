public import Foundation

extension JSONValue {
    /// Creates a value by parsing a JSON text.
    ///
    /// - Parameters:
    ///   - data: The text, as UTF-8; a byte order mark is ignored, and half a surrogate pair is U+FFFD.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    @inline(never)
    public init(parsing data: Data, maximumDepth: Int = 128) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONValue(parsing: bytes, maximumDepth: maximumDepth) }
        }
        self = try result.get()
    }

    /// Creates a value by parsing a JSON text in memory.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8; a byte order mark is ignored, and half a surrogate pair is U+FFFD.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    @inline(never)
    public init(parsing bytes: UnsafeRawBufferPointer, maximumDepth: Int = 128) throws(JSONError) {
        self = try JSONScanner.repairing(bytes) { (bytes) throws(JSONError) in
            JSONValue(validated: try JSONScanner.validate(bytes, maximumDepth: maximumDepth), in: bytes)
        }.value
    }

    /// Creates a value by parsing a JSON text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text and its offset.
    public init(parsing text: String, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: Data(text.utf8), maximumDepth: maximumDepth)
    }

    /// Creates the value at `range` of a validated text.
    @inline(never)
    init(validated range: Range<Int>, in bytes: UnsafeRawBufferPointer) {
        var builder = JSONTreeBuilder(JSONScanner(bytes, endingAt: range.upperBound))
        self = builder.build(from: range.lowerBound)
    }
}

/// Builds a tree from validated text, with a stack of its own instead of recursion.
private struct JSONTreeBuilder {
    /// An array or object that is still open, with the indices where its contents begin in `values` and `names`.
    private struct OpenContainer {
        let isObject: Bool
        let firstValue: Int
        let firstName: Int
    }

    private let scanner: JSONScanner
    private var open: [OpenContainer] = []
    private var values: [JSONValue] = []
    private var names: [String] = []

    init(_ scanner: JSONScanner) { self.scanner = scanner }

    mutating func build(from start: Int) -> JSONValue {
        var index = start
        while index < scanner.end {
            let byte = scanner.byte(at: index)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = byte == UInt8(ascii: "{")
                open.append(OpenContainer(isObject: isObject, firstValue: values.count, firstName: names.count))
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                close()
                index += 1
            case UInt8(ascii: "\""):
                let after = scanner.skipString(at: index + 1) ?? scanner.end
                let string = scanner.string(in: index + 1..<max(after - 1, index + 1))
                let next = scanner.skipWhitespace(from: after)
                if scanner.byte(at: next) == UInt8(ascii: ":") {
                    names.append(string)
                    index = next + 1
                } else {
                    values.append(.string(string))
                    index = next
                }
            case 0x00...0x20, UInt8(ascii: ","): index += 1
            default:
                let after = scanner.skipValue(at: index) ?? scanner.end
                values.append(scalar(in: index..<after))
                index = after
            }
        }
        return values.first ?? .null
    }

    private mutating func close() {
        guard let container = open.popLast() else { return }
        let value: JSONValue
        // The slices must be released before elements are removed; otherwise the arrays would be copied.
        if container.isObject {
            let members = zip(names[container.firstName...], values[container.firstValue...]).map { ($0, $1) }
            value = .object(JSONObject(members))
            names.removeSubrange(container.firstName...)
        } else {
            value = .array(Array(values[container.firstValue...]))
        }
        values.removeSubrange(container.firstValue...)
        values.append(value)
    }

    private func scalar(in range: Range<Int>) -> JSONValue {
        switch scanner.byte(at: range.lowerBound) {
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "t"): .bool(true)
        case UInt8(ascii: "f"): .bool(false)
        default: .number(JSONNumber(validated: String(decoding: scanner.bytes[range], as: UTF8.self)))
        }
    }
}
