extension JSONScanner {
    /// Iterates over the members of an object in validated text.
    ///
    /// A value is skipped only when the next member is requested, so stopping early costs nothing.
    struct MemberIterator {
        private let scanner: JSONScanner
        private var index: Int
        private var unread: Int?

        /// Creates an iterator at the first byte of an object; anything else has no members.
        init(_ scanner: JSONScanner, objectAt start: Int) {
            self.scanner = scanner
            index = scanner.byte(at: start) == UInt8(ascii: "{") ? start + 1 : scanner.end
        }

        /// Returns the range of the next member's name without quotes and the start of its value, or `nil` at the end.
        mutating func next() -> (name: Range<Int>, value: Int)? {
            if unread != nil, valueEnd() == nil { return nil }
            index = scanner.skipWhitespace(from: index)
            if scanner.byte(at: index) == UInt8(ascii: ",") { index = scanner.skipWhitespace(from: index + 1) }
            guard scanner.byte(at: index) == UInt8(ascii: "\""), let nameEnd = scanner.skipString(at: index + 1) else {
                return nil
            }
            let colon = scanner.skipWhitespace(from: nameEnd)
            guard scanner.byte(at: colon) == UInt8(ascii: ":") else { return nil }
            let start = scanner.skipWhitespace(from: colon + 1)
            unread = start
            return (index + 1..<nameEnd - 1, start)
        }

        /// Returns the end of the value of the last member that ``next()`` returned.
        mutating func valueEnd() -> Int? {
            guard let start = unread else { return index }
            guard let end = scanner.skipValue(at: start) else { return nil }
            unread = nil
            index = end
            return end
        }
    }

    /// Iterates over the elements of an array in validated text.
    ///
    /// An element is skipped only when the next one is requested, so stopping early costs nothing.
    struct ElementIterator {
        private let scanner: JSONScanner
        private var index: Int
        private var unread: Int?

        /// Creates an iterator at the first byte of an array; anything else has no elements.
        init(_ scanner: JSONScanner, arrayAt start: Int) {
            self.scanner = scanner
            index = scanner.byte(at: start) == UInt8(ascii: "[") ? start + 1 : scanner.end
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
