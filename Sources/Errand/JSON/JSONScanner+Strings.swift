extension JSONScanner {
    /// Validates a string from the byte after its opening quote, and finds out whether it has an escape.
    ///
    /// - Parameters:
    ///   - start: The offset after the opening quote.
    ///   - isEscaped: Becomes `true` if there is an escape.
    /// - Returns: The offset after the closing quote.
    /// - Throws: The error and its offset.
    @inline(__always)
    func validateString(at start: Int, isEscaped: inout Bool) throws(JSONError) -> Int {
        var index = start
        while true {
            index = skipPlain(from: index)
            let next = byte(at: index)
            if next == UInt8(ascii: "\"") { return index &+ 1 }
            if next == UInt8(ascii: "\\") { isEscaped = true }
            index = try validateUnusual(next, at: index)
        }
    }

    /// Marks, with their high bit, the bytes of a string that are not plain ASCII text: quote, backslash, control
    /// characters and non-ASCII bytes.
    ///
    /// A borrow can mark further bytes, but only above one that is correctly marked, so the lowest mark is always
    /// correct.
    @inline(__always)
    static func specialBytes(in word: UInt64) -> UInt64 {
        let quote = (word ^ 0x2222_2222_2222_2222) &- 0x0101_0101_0101_0101
        let backslash = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- 0x0101_0101_0101_0101
        let control = word &- 0x2020_2020_2020_2020
        return (word | quote | backslash | control) & 0x8080_8080_8080_8080
    }

    /// Returns the offset of the first byte that is written with an escape in a string: a quote, a backslash or a control character.
    func endOfUnescaped(from start: Int) -> Int {
        var index = start
        while true {
            index = skipPlain(from: index)
            guard index < end else { return end }
            let next = bytes[index]
            if next < 0x20 || next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") { return index }
            index &+= 1
        }
    }

    /// Returns the offset of the first of ``specialBytes(in:)``, or of one of the last eight bytes.
    @inline(__always)
    private func skipPlain(from start: Int) -> Int {
        var index = start
        while end &- index >= 8 {
            let special = Self.specialBytes(in: word(at: index))
            if special != 0 { return index &+ special.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        return index
    }

    /// Validates what is at `index` if it is not the closing quote, and returns the offset after it.
    @inline(never)
    private func validateUnusual(_ byte: UInt8, at index: Int) throws(JSONError) -> Int {
        guard index < end else { throw JSONError(.unexpectedEnd, offset: end) }
        if byte == UInt8(ascii: "\\") { return try validateEscape(at: index) }
        if byte < 0x20 { throw JSONError(.controlCharacter, offset: index) }
        if byte < 0x80 { return index &+ 1 }
        // Non-ASCII text comes in runs.
        var index = index
        while index < end, bytes[index] >= 0x80 { index = try validateSequence(at: index) }
        return index
    }

    /// Validates one multi-byte UTF-8 sequence (The Unicode Standard, table 3-7).
    @inline(__always)
    private func validateSequence(at index: Int) throws(JSONError) -> Int {
        // Past the end are zeros, which are not continuation bytes.
        let word =
            end &- index >= 4
            ? halfWord(at: index)
            : UInt32(byte(at: index)) | UInt32(byte(at: index &+ 1)) &<< 8 | UInt32(byte(at: index &+ 2)) &<< 16
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            // Neither overlong (below U+0800) nor a surrogate (U+D800 to U+DFFF).
            let bits = word & 0x0000_200F
            if bits != 0, bits != 0x0000_200D { return index &+ 3 }
        } else if word & 0x0000_C0E0 == 0x0000_80C0 {
            if word & 0x0000_001E != 0 { return index &+ 2 }
        } else if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            // Neither overlong (below U+10000) nor above U+10FFFF.
            let bits = word & 0x0000_3007
            if bits != 0, bits & 0x4 == 0 || bits & 0x3003 == 0 { return index &+ 4 }
        }
        throw JSONError(.invalidUTF8, offset: index)
    }

    /// Validates the escape whose backslash is at `index`.
    @inline(__always)
    private func validateEscape(at index: Int) throws(JSONError) -> Int {
        switch byte(at: index &+ 1) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index &+ 2
        case UInt8(ascii: "u"):
            let unit = try hexadecimalUnit(at: index &+ 2)
            guard unit & 0xF800 == 0xD800 else { return index &+ 6 }
            // A high surrogate must be followed immediately by a low one; half a pair has no UTF-8.
            guard unit < 0xDC00 else { throw JSONError(.invalidUTF8, offset: index) }
            guard byte(at: index &+ 6) == UInt8(ascii: "\\"), byte(at: index &+ 7) == UInt8(ascii: "u"),
                try hexadecimalUnit(at: index &+ 8) & 0xFC00 == 0xDC00
            else { throw JSONError(.invalidUTF8, offset: index) }
            return index &+ 12
        default:
            throw failure(expecting: "one of \" \\ / b f n r t u after a backslash", at: index &+ 1)
        }
    }

    /// Returns the code unit of four hexadecimal digits.
    private func hexadecimalUnit(at start: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = Self.hexadecimalValue(byte(at: start &+ offset)) else {
                throw failure(expecting: "four hexadecimal digits after \\u", at: start &+ offset)
            }
            unit = unit &<< 4 | digit
        }
        return unit
    }

    /// Returns the value of a hexadecimal digit, or `nil` for any other byte.
    @inline(__always)
    static func hexadecimalValue(_ byte: UInt8) -> UInt32? {
        let decimal = byte &- UInt8(ascii: "0")
        if decimal <= 9 { return UInt32(decimal) }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter <= 5 ? UInt32(letter) + 10 : nil
    }
}
