extension JSONScanner {
    /// The kinds of the open containers, one bit each, so that closing one needs no recursion.
    ///
    /// The innermost 64 are in one word; the others are in `outer`.
    struct ContainerKinds {
        private var inner: UInt64 = 0
        private var outer = SIMD8<UInt64>()
        private(set) var depth = 0

        /// Whether the innermost container is an object.
        @inline(__always)
        var isObject: Bool { inner & 1 == 1 }

        /// Opens a container; the caller has checked that `depth` is below 512.
        @inline(__always)
        mutating func open(isObject: Bool) {
            if depth & 63 == 0, depth > 0 { Self.save(inner, at: depth, in: &outer) }
            inner = inner &<< 1 | (isObject ? 1 : 0)
            depth &+= 1
        }

        /// Closes a container; the caller has checked that `depth` is above 0.
        @inline(__always)
        mutating func close() {
            depth &-= 1
            inner = depth & 63 == 0 && depth > 0 ? Self.restore(from: outer, at: depth) : inner &>> 1
        }

        @inline(never)
        private static func save(_ inner: UInt64, at depth: Int, in outer: inout SIMD8<UInt64>) {
            outer[(depth >> 6) - 1] = inner
        }

        @inline(never)
        private static func restore(from outer: SIMD8<UInt64>, at depth: Int) -> UInt64 {
            outer[(depth >> 6) - 1]
        }
    }

    /// Validates one value of any depth.
    ///
    /// - Parameters:
    ///   - start: The offset of its first byte.
    ///   - depth: The number of containers around it.
    ///   - limit: The maximum number of open containers, at most 512.
    /// - Returns: The offset after its last byte.
    /// - Throws: The error and its offset.
    func validateValue(at start: Int, depth: Int, limit: Int) throws(JSONError) -> Int {
        var index = start
        var kinds = ContainerKinds()
        let room = limit &- depth
        value: while true {
            switch byte(at: index) {
            case UInt8(ascii: "\""):
                index = try validateString(at: index &+ 1)
            case UInt8(ascii: "{"):
                if kinds.depth >= room { throw failure(.tooDeep(limit: limit), at: index) }
                kinds.open(isObject: true)
                index = skipWhitespace(from: index &+ 1)
                if byte(at: index) != UInt8(ascii: "}") {
                    index = try validateName(at: index)
                    continue value
                }
                kinds.close()
                index &+= 1
            case UInt8(ascii: "["):
                if kinds.depth >= room { throw failure(.tooDeep(limit: limit), at: index) }
                kinds.open(isObject: false)
                index = skipWhitespace(from: index &+ 1)
                if byte(at: index) != UInt8(ascii: "]") { continue value }
                kinds.close()
                index &+= 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                index = try validateNumber(at: index)
            default:
                index = try validateLiteral(at: index)
            }
            while kinds.depth > 0 {
                index = skipWhitespace(from: index)
                let next = byte(at: index)
                if next == UInt8(ascii: ",") {
                    index = skipWhitespace(from: index &+ 1)
                    if kinds.isObject { index = try validateName(at: index) }
                    continue value
                }
                guard next == (kinds.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw failure(expecting: "a comma or the end of the array or object", at: index)
                }
                kinds.close()
                index &+= 1
            }
            return index
        }
    }

    /// Validates a member's name and the colon, and returns the offset of the value's first byte.
    @inline(__always)
    func validateName(at start: Int) throws(JSONError) -> Int {
        guard byte(at: start) == UInt8(ascii: "\"") else {
            throw failure(expecting: "a member name in quotes", at: start)
        }
        let colon = skipWhitespace(from: try validateString(at: start &+ 1))
        guard byte(at: colon) == UInt8(ascii: ":") else { throw failure(expecting: "a colon", at: colon) }
        return skipWhitespace(from: colon &+ 1)
    }

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
