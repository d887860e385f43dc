extension JSONScanner {
    /// Iterates over the members of an object in validated text.
    ///
    /// A value is skipped only when the next member is requested, so stopping early costs nothing.
    struct MemberIterator {
        private var members: ElementIterator

        /// Creates an iterator at the first byte of an object; anything else has no members.
        init(_ scanner: JSONScanner, objectAt start: Int) {
            members = ElementIterator(scanner, after: UInt8(ascii: "{"), at: start)
        }

        /// Returns the range of the next member's name without quotes and the start of its value, or `nil` at the end.
        mutating func next() -> (name: Range<Int>, value: Int)? {
            let scanner = members.scanner
            guard let name = members.next(), scanner.byte(at: name) == UInt8(ascii: "\""),
                let nameEnd = scanner.skipString(at: name + 1)
            else { return nil }
            let colon = scanner.skipWhitespace(from: nameEnd)
            guard scanner.byte(at: colon) == UInt8(ascii: ":") else { return nil }
            let start = scanner.skipWhitespace(from: colon + 1)
            members.unread = start
            return (name + 1..<nameEnd - 1, start)
        }

        /// Returns the end of the value of the last member that ``next()`` returned.
        mutating func valueEnd() -> Int? { members.elementEnd() }
    }

    /// Iterates over the elements of an array in validated text.
    ///
    /// An element is skipped only when the next one is requested, so stopping early costs nothing.
    struct ElementIterator {
        fileprivate let scanner: JSONScanner
        private var index: Int
        fileprivate var unread: Int?

        /// Creates an iterator at the first byte of an array; anything else has no elements.
        init(_ scanner: JSONScanner, arrayAt start: Int) { self.init(scanner, after: UInt8(ascii: "["), at: start) }

        fileprivate init(_ scanner: JSONScanner, after bracket: UInt8, at start: Int) {
            self.scanner = scanner
            index = scanner.byte(at: start) == bracket ? start + 1 : scanner.end
        }

        /// Creates an iterator over a range of complete elements.
        init(_ scanner: JSONScanner, elements: Range<Int>) {
            self.scanner = JSONScanner(scanner.bytes, endingAt: elements.upperBound)
            index = elements.lowerBound
        }

        /// Returns the start of the next element, or `nil` at the end.
        mutating func next() -> Int? {
            if unread != nil, elementEnd() == nil { return nil }
            index = scanner.skipWhitespace(from: index)
            if scanner.byte(at: index) == UInt8(ascii: ",") { index = scanner.skipWhitespace(from: index + 1) }
            guard index < scanner.end, scanner.byte(at: index) != UInt8(ascii: "]") else { return nil }
            unread = index
            return index
        }

        /// Returns the end of the last element that ``next()`` returned.
        mutating func elementEnd() -> Int? {
            guard let start = unread else { return index }
            guard let end = scanner.skipValue(at: start) else { return nil }
            unread = nil
            index = end
            return end
        }
    }
}
