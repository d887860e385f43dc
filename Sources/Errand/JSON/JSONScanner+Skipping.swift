/// Navigation over text that has been validated.
///
/// On text that has not been, the answers are meaningless or `nil`, and nothing traps.
extension JSONScanner {
    /// The offset after the value at `start`, or `nil` when the text ends before it does.
    func skipValue(at start: Int) -> Int? {
        switch byte(at: start) {
        case UInt8(ascii: "\""): skipString(at: start &+ 1)
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipContainer(at: start &+ 1)
        case 0: nil
        default: skipScalar(at: start)
        }
    }

    /// The offset after the string whose opening quote is before `start`.
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

    /// Marks quotes and backslashes; as with ``specialBytes(in:)`` the lowest mark is right.
    @inline(__always)
    private static func stringMarks(in word: UInt64) -> UInt64 {
        let quote = word ^ 0x2222_2222_2222_2222
        let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
        let marks = (quote &- 0x0101_0101_0101_0101) & ~quote | (backslash &- 0x0101_0101_0101_0101) & ~backslash
        return marks & 0x8080_8080_8080_8080
    }

    /// The offset after the array or object whose opening bracket is before `start`.
    private func skipContainer(at start: Int) -> Int? {
        var index = start
        var depth = 1
        while true {
            if end &- index >= 8 {
                var marks = Self.structureMarks(in: word(at: index))
                var next = index &+ 8
                while marks != 0 {
                    let position = index &+ marks.trailingZeroBitCount &>> 3
                    marks &= marks &- 1
                    let byte = bytes[position]
                    if byte == UInt8(ascii: "\"") {
                        guard let after = skipString(at: position &+ 1) else { return nil }
                        next = after
                        break
                    }
                    depth &+= Self.depthChange(of: byte)
                    if depth == 0 { return position &+ 1 }
                }
                index = next
                continue
            }
            guard index < end else { return nil }
            let byte = bytes[index]
            index &+= 1
            if byte == UInt8(ascii: "\"") {
                guard let after = skipString(at: index) else { return nil }
                index = after
            } else {
                depth &+= Self.depthChange(of: byte)
                if depth == 0 { return index }
            }
        }
    }

    /// Marks quotes, brackets and braces, and now and then another byte.
    @inline(__always)
    private static func structureMarks(in word: UInt64) -> UInt64 {
        let quote = (word ^ 0x2222_2222_2222_2222) &- 0x0101_0101_0101_0101
        // The four brackets, and four bytes that stand outside strings in no JSON, are 7F after this.
        let bracket = ((word | 0x2626_2626_2626_2626) ^ 0x7F7F_7F7F_7F7F_7F7F) &- 0x0101_0101_0101_0101
        return (quote | bracket) & 0x8080_8080_8080_8080
    }

    @inline(__always)
    private static func depthChange(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): -1
        default: 0
        }
    }

    /// The offset after a number or literal.
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
