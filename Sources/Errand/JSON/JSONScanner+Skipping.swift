/// Navigation in validated text.
///
/// In other text, the results are meaningless or `nil`, but nothing traps.
extension JSONScanner {
    /// Returns the offset after the value at `start`, or `nil` if the text ends before it does.
    package func skipValue(at start: Int) -> Int? {
        switch byte(at: start) {
        case UInt8(ascii: "\""): skipString(at: start &+ 1)
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipContainer(at: start &+ 1)
        case 0: nil
        default: skipScalar(at: start)
        }
    }

    /// Returns the offset after the string whose opening quote is before `start`.
    @inline(__always)
    func skipString(at start: Int) -> Int? {
        var index = start
        while true {
            if end &- index >= 8 {
                let special = Self.stringMarks(in: word(at: index))
                if special == 0 {
                    index &+= 8
                    continue
                }
                index &+= special.trailingZeroBitCount &>> 3
            }
            guard index < end else { return nil }
            switch bytes[index] {
            case UInt8(ascii: "\""): return index &+ 1
            case UInt8(ascii: "\\"): index &+= 2
            default: index &+= 1
            }
        }
    }

    /// Marks quotes and backslashes; as in ``specialBytes(in:)``, only the lowest mark is reliable.
    @inline(__always)
    private static func stringMarks(in word: UInt64) -> UInt64 {
        let quote = word ^ 0x2222_2222_2222_2222
        let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
        let marks = (quote &- 0x0101_0101_0101_0101) & ~quote | (backslash &- 0x0101_0101_0101_0101) & ~backslash
        return marks & 0x8080_8080_8080_8080
    }

    /// Returns the offset after the array or object whose opening bracket is before `start`.
    ///
    /// Reads eight bytes at a time: the quotes determine which of them are inside strings, and the brackets of the
    /// others are counted.
    private func skipContainer(at start: Int) -> Int? {
        var index = start
        var depth = 1
        // All ones in the high bits of its bytes while inside a string, or else zero.
        var inside: UInt64 = 0
        while end &- index >= 8 {
            let word = word(at: index)
            if Self.hasBackslash(word) {
                // This is rare, so it reads one byte or escape at a time until the end of this word.
                let next = index &+ 8
                while index < next {
                    guard let after = step(at: index, depth: &depth, inside: &inside) else { return nil }
                    index = after
                    if depth == 0 { return index }
                }
                continue
            }
            var parity = Self.quotes(in: word)
            parity ^= parity &<< 8
            parity ^= parity &<< 16
            parity ^= parity &<< 32
            let inString = parity ^ inside
            var brackets = Self.brackets(in: word) & ~inString
            while brackets != 0 {
                let position = index &+ brackets.trailingZeroBitCount &>> 3
                brackets &= brackets &- 1
                depth &+= Self.depthChange(of: bytes[position])
                if depth == 0 { return position &+ 1 }
            }
            inside = inString &>> 63 == 0 ? 0 : Self.highBits
            index &+= 8
        }
        while let after = step(at: index, depth: &depth, inside: &inside) {
            index = after
            if depth == 0 { return index }
        }
        return nil
    }

    /// Advances by one byte, or by one escape inside a string.
    private func step(at index: Int, depth: inout Int, inside: inout UInt64) -> Int? {
        guard index < end else { return nil }
        let byte = bytes[index]
        if byte == UInt8(ascii: "\"") {
            inside ^= Self.highBits
        } else if inside == 0 {
            depth &+= Self.depthChange(of: byte)
        } else if byte == UInt8(ascii: "\\") {
            return index &+ 2
        }
        return index &+ 1
    }

    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    private static func hasBackslash(_ word: UInt64) -> Bool {
        let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
        return (backslash &- 0x0101_0101_0101_0101) & ~backslash & highBits != 0
    }

    /// Marks exactly the quotes, because their number determines what is inside strings.
    @inline(__always)
    private static func quotes(in word: UInt64) -> UInt64 {
        let quote = word ^ 0x2222_2222_2222_2222
        return ~((quote & ~highBits) &+ ~highBits | quote) & highBits
    }

    /// Marks brackets and braces, and occasionally another byte.
    @inline(__always)
    private static func brackets(in word: UInt64) -> UInt64 {
        // After this, the four brackets are 7F, and so are four bytes that JSON has only inside strings.
        let bracket = (word | 0x2626_2626_2626_2626) ^ 0x7F7F_7F7F_7F7F_7F7F
        return (bracket &- 0x0101_0101_0101_0101) & ~bracket & highBits
    }

    @inline(__always)
    private static func depthChange(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): -1
        default: 0
        }
    }

    /// Returns the offset after a number or literal.
    @inline(__always)
    private func skipScalar(at start: Int) -> Int {
        var index = start &+ 1
        while index < end {
            switch bytes[index] {
            case 0x00...0x20, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return index
            default: index &+= 1
            }
        }
        return index
    }
}
