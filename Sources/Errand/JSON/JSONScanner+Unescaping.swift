internal import Foundation

/// Reading the content of validated strings.
extension JSONScanner {
    /// Returns the string whose content, without its quotes, is `range`.
    func string(in range: Range<Int>) -> String {
        String(unsafeUninitializedCapacity: range.count) { unescape(range, to: $0) }
    }

    /// Returns the range between the quotes of the string that begins at `start`.
    func content(ofStringAt start: Int) -> Range<Int> {
        let range = range(ofValueAt: start)
        return range.count < 2 ? range.upperBound..<range.upperBound : range.lowerBound + 1..<range.upperBound - 1
    }

    /// Returns the UTF-8 bytes of the string whose content, without its quotes, is `range`.
    func unescapedBytes(in range: Range<Int>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { $1 = unescape(range, to: $0) }
    }

    /// Writes the UTF-8 bytes of a string, of which no escape is shorter than what it stands for, and returns their number.
    private func unescape(_ range: Range<Int>, to target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let source = bytes.baseAddress, let target = target.baseAddress else { return 0 }
        var (index, count) = (range.lowerBound, 0)
        while index < range.upperBound {
            let rest = range.upperBound &- index
            let length = memchr(source + index, 0x5C, rest).map { UnsafeRawPointer($0) - (source + index) } ?? rest
            UnsafeMutableRawPointer(target + count).copyMemory(from: source + index, byteCount: length)
            (index, count) = (index &+ length, count &+ length)
            guard index < range.upperBound else { break }
            // What is no escape, and so not in validated text, becomes a question mark.
            for unit in UTF8.encode(unescapedScalar(at: &index, endingAt: range.upperBound) ?? "?") ?? .init() {
                target[count] = unit
                count &+= 1
            }
        }
        return count
    }

    /// Returns the scalar of the escape at `index`, and moves `index` after it.
    ///
    /// - Returns: `nil` if it is not an escape, which does not occur in validated text.
    func unescapedScalar(at index: inout Int, endingAt end: Int) -> Unicode.Scalar? {
        let kind = index &+ 1 < end ? bytes[index &+ 1] : 0
        index = min(index &+ 2, end)
        switch kind {
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let unit = codeUnit(at: &index, endingAt: end) else { return nil }
        guard unit & 0xFC00 == 0xD800 else { return Unicode.Scalar(unit) }
        index = min(index &+ 2, end)
        guard let low = codeUnit(at: &index, endingAt: end), low & 0xFC00 == 0xDC00 else { return nil }
        return Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF))
    }

    /// Returns the code unit of the four hexadecimal digits at `index`, and moves `index` after them.
    private func codeUnit(at index: inout Int, endingAt end: Int) -> UInt32? {
        guard end - index >= 4 else { return nil }
        var unit: UInt32 = 0
        for position in index..<index + 4 {
            guard let digit = Self.hexadecimalValue(bytes[position]) else { return nil }
            unit = unit << 4 | digit
        }
        index += 4
        return unit
    }
}

/// Reading text that is valid but for a byte order mark, and for strings that were cut within a surrogate pair.
extension JSONScanner {
    /// Calls a closure that validates a text, and if that fails because of either, calls it with a copy that has neither.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8.
    ///   - read: Validates a text.
    /// - Returns: The closure's result, and the copy that it is about, or `nil` if there is none.
    /// - Throws: The error of the closure.
    static func repairing<Value>(
        _ bytes: UnsafeRawBufferPointer,
        _ read: (UnsafeRawBufferPointer) throws(JSONError) -> Value
    ) throws(JSONError) -> (value: Value, copy: [UInt8]?) {
        do throws(JSONError) {
            return (try read(bytes), nil)
        } catch {
            guard error.reason == .invalidUTF8, let copy = JSONScanner(bytes).repaired else { throw error }
            let value = copy.withUnsafeBytes { bytes in Result { () throws(JSONError) in try read(bytes) } }
            return (try value.get(), copy)
        }
    }

    /// The text with spaces in place of a byte order mark (RFC 8259, section 8.1), and U+FFFD in place of each half of a
    /// surrogate pair, or `nil` if it has neither; every offset remains.
    @inline(never)
    private var repaired: [UInt8]? {
        var copy = Array(bytes)
        if copy.starts(with: [0xEF, 0xBB, 0xBF]) { copy.replaceSubrange(0..<3, with: [0x20, 0x20, 0x20]) }
        var index = 0
        while let start = bytes[index..<end].firstIndex(of: UInt8(ascii: "\\")) {
            index = min(start + 2, end)
            guard byte(at: start + 1) == UInt8(ascii: "u"), let unit = codeUnit(at: &index, endingAt: end),
                unit & 0xF800 == 0xD800
            else { continue }
            var second = min(index + 2, end)
            if unit < 0xDC00, byte(at: index) == UInt8(ascii: "\\"), byte(at: index + 1) == UInt8(ascii: "u"),
                let low = codeUnit(at: &second, endingAt: end), low & 0xFC00 == 0xDC00
            {
                index = second
            } else {
                copy.replaceSubrange(start + 2..<start + 6, with: "fffd".utf8)
            }
        }
        return bytes.elementsEqual(copy) ? nil : copy
    }
}

extension Data {
    /// Calls a closure that validates JSON, and returns its result and the text that it is about, as
    /// ``JSONScanner/repairing(_:_:)`` does.
    func repairingJSON<Value>(
        _ read: (UnsafeRawBufferPointer) throws(JSONError) -> Value
    ) throws(JSONError) -> (value: Value, copy: Data?) {
        let result = withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONScanner.repairing(bytes, read) }
        }
        let (value, copy) = try result.get()
        return (value, copy.map { Data($0) })
    }
}
