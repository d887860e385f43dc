extension JSONScanner {
    /// Validates `true`, `false` or `null`.
    @inline(__always)
    func validateLiteral(at start: Int) throws(JSONError) -> Int {
        if end &- start >= 4 {
            switch halfWord(at: start) {
            case 0x6575_7274, 0x6C6C_756E: return start &+ 4
            case 0x736C_6166 where byte(at: start &+ 4) == UInt8(ascii: "e"): return start &+ 5
            default: break
            }
        }
        throw literalFailure(at: start)
    }

    @inline(never)
    private func literalFailure(at start: Int) -> JSONError {
        for word in ["true", "false", "null"] where bytes[start..<end].elementsEqual(word.utf8.prefix(end - start)) {
            return JSONError(.unexpectedEnd, offset: end)
        }
        return failure(expecting: "a value", at: start)
    }

    /// Validates a number as defined by RFC 8259, section 6.
    @inline(__always)
    func validateNumber(at start: Int) throws(JSONError) -> Int {
        var index = start
        if byte(at: index) == UInt8(ascii: "-") { index &+= 1 }
        if byte(at: index) == UInt8(ascii: "0") {
            index &+= 1
        } else {
            index = try skipDigits(from: index)
        }
        if byte(at: index) == UInt8(ascii: ".") { index = try skipDigits(from: index &+ 1) }
        if byte(at: index) | 0x20 == UInt8(ascii: "e") {
            index &+= 1
            let sign = byte(at: index)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { index &+= 1 }
            index = try skipDigits(from: index)
        }
        return index
    }

    @inline(__always)
    private func skipDigits(from start: Int) throws(JSONError) -> Int {
        var index = start
        while index < end, bytes[index] &- UInt8(ascii: "0") <= 9 { index &+= 1 }
        if index == start { throw failure(expecting: "a digit", at: index) }
        return index
    }
}
