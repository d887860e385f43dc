extension JSONScanner {
    /// Steps through the members of an object in validated text.
    struct MemberIterator {
        private let scanner: JSONScanner
        private var index: Int

        /// Starts at `object`, the range of the whole value; anything but an object has no members.
        init(_ scanner: JSONScanner, object: Range<Int>) {
            self.scanner = JSONScanner(scanner.bytes, endingAt: object.upperBound)
            let isObject = self.scanner.byte(at: object.lowerBound) == UInt8(ascii: "{")
            index = isObject ? object.lowerBound + 1 : self.scanner.end
        }

        /// The ranges of the next member: its name without the quotes, and its value.
        mutating func next() -> (name: Range<Int>, value: Range<Int>)? {
            index = scanner.skipWhitespace(from: index)
            if scanner.byte(at: index) == UInt8(ascii: ",") { index = scanner.skipWhitespace(from: index + 1) }
            guard scanner.byte(at: index) == UInt8(ascii: "\""), let nameEnd = scanner.skipString(at: index + 1) else {
                return nil
            }
            let colon = scanner.skipWhitespace(from: nameEnd)
            guard scanner.byte(at: colon) == UInt8(ascii: ":") else { return nil }
            let start = scanner.skipWhitespace(from: colon + 1)
            guard let end = scanner.skipValue(at: start) else { return nil }
            defer { index = end }
            return (index + 1..<nameEnd - 1, start..<end)
        }
    }

    /// Steps through the elements of an array in validated text.
    struct ElementIterator {
        private let scanner: JSONScanner
        private var index: Int

        /// Starts at `array`, the range of the whole value; anything but an array has no elements.
        init(_ scanner: JSONScanner, array: Range<Int>) {
            self.scanner = JSONScanner(scanner.bytes, endingAt: array.upperBound)
            let isArray = self.scanner.byte(at: array.lowerBound) == UInt8(ascii: "[")
            index = isArray ? array.lowerBound + 1 : self.scanner.end
        }

        /// Starts at `elements`, the range between the brackets of an array or some whole elements of it.
        init(_ scanner: JSONScanner, elements: Range<Int>) {
            self.scanner = JSONScanner(scanner.bytes, endingAt: elements.upperBound)
            index = elements.lowerBound
        }

        /// The range of the next element.
        mutating func next() -> Range<Int>? {
            index = scanner.skipWhitespace(from: index)
            if scanner.byte(at: index) == UInt8(ascii: ",") { index = scanner.skipWhitespace(from: index + 1) }
            let start = index
            guard scanner.byte(at: start) != UInt8(ascii: "]") else { return nil }
            guard let end = scanner.skipValue(at: start) else { return nil }
            index = end
            return start..<end
        }
    }
}
