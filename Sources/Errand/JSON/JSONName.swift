internal import Foundation

/// The name of a member, prepared for comparison with the bytes of a text.
package struct JSONName: Hashable, Sendable {
    package let text: String
    private let utf8: [UInt8]
    private let hasBackslash: Bool

    @inline(never)
    init(_ text: String) {
        self.text = text
        utf8 = Array(text.utf8)
        hasBackslash = utf8.contains(UInt8(ascii: "\\"))
    }

    /// Whether the string whose content is `range` equals this name after unescaping.
    @inline(__always)
    func matches(_ range: Range<Int>, in scanner: JSONScanner) -> Bool {
        // An escape is never shorter than the text that it represents.
        guard range.count >= utf8.count else { return false }
        if range.count > utf8.count || hasBackslash { return matchesEscaped(range, in: scanner) }
        return scanner.bytes.baseAddress.map { memcmp($0 + range.lowerBound, utf8, utf8.count) == 0 } ?? true
    }

    @inline(never)
    private func matchesEscaped(_ range: Range<Int>, in scanner: JSONScanner) -> Bool {
        scanner.bytes[range].contains(UInt8(ascii: "\\")) && scanner.string(in: range).utf8.elementsEqual(utf8)
    }
}

extension JSONName: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self.init(value) }
}
