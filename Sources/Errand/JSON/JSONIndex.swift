/// What a validated text consists of: one word for each name and value, in their order, so that containers find what is in them
/// without reading the text again.
///
/// A word has the kind (3 bits), the offset (32) and the length (29) of a scalar or name, without quotes. An array has a second
/// word: its number of elements (32 bits) and the index of the word after it (32). An object has that too, and two words for
/// the look-up of its members: the next name in order, and a digest of the names before it.
struct JSONIndex: ~Copyable {
    /// The type of a value; a name is a string.
    enum Kind: UInt8 {
        case null, `false`, `true`, number, string, escapedString, array, object

        @inline(__always)
        init(_ word: UInt64) { self = Kind(rawValue: UInt8(truncatingIfNeeded: word & 7)) ?? .null }
    }

    /// The greatest length of a text, 512 MiB.
    static let maximumByteCount = 1 << 29 - 1

    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var count = 0
    private var capacity: Int

    /// Validates a text, and creates its index.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512; other numbers are clamped.
    /// - Throws: The error and its offset.
    init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int = JSONDepth.standard) throws(JSONError) {
        // Most values take more than eight bytes of a text.
        capacity = bytes.count / 8 + 16
        words = .allocate(capacity: capacity)
        guard bytes.count <= Self.maximumByteCount else {
            throw JSONError(.violates(rule: "a text of at most 512 MiB; decode it with a JSONDecoder"))
        }
        let scanner = JSONScanner(bytes)
        try scanner.finish(at: add(scanner, from: scanner.start(), limit: JSONDepth.clamped(maximumDepth)))
        // What is absent is a null.
        words[count] = 0
    }

    deinit { words.deallocate() }

    /// Validates one value of any depth, as ``JSONScanner/validateValue(at:depth:limit:)`` does, and adds its words.
    private mutating func add(_ scanner: JSONScanner, from start: Int, limit: Int) throws(JSONError) -> Int {
        var index = start
        // The first word of the innermost open container, and the number of values in it; the word that will have that number
        // has the next outer one meanwhile.
        var (open, depth, members) = (-1, 0, UInt64(0))
        var isObject = false
        value: while true {
            if capacity &- count < 8 { grow() }
            let byte = scanner.byte(at: index)
            switch byte {
            case UInt8(ascii: "\""): index = try addString(scanner, at: index)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth >= limit { throw scanner.failure(.tooDeep(limit: limit), at: index) }
                words[count] = Self.word(byte == UInt8(ascii: "{") ? .object : .array, index, 0)
                words[count &+ 1] = UInt64(truncatingIfNeeded: open &+ 1) | members &<< 32
                (open, depth, members) = (count, depth &+ 1, 0)
                isObject = byte == UInt8(ascii: "{")
                count &+= isObject ? 4 : 2
                index = scanner.skipWhitespace(from: index &+ 1)
                if isObject {
                    if scanner.byte(at: index) != UInt8(ascii: "}") {
                        index = try addName(scanner, at: index)
                        continue value
                    }
                } else if scanner.byte(at: index) != UInt8(ascii: "]") {
                    continue value
                }
                index &+= 1
                close(&open, &depth, &members, &isObject)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = try scanner.validateNumber(at: index)
                append(.number, index, end &- index)
                index = end
            default:
                let end = try scanner.validateLiteral(at: index)
                append(
                    byte == UInt8(ascii: "t") ? .true : byte == UInt8(ascii: "f") ? .false : .null,
                    index,
                    end &- index
                )
                index = end
            }
            while depth > 0 {
                members &+= 1
                index = scanner.skipWhitespace(from: index)
                let next = scanner.byte(at: index)
                if next == UInt8(ascii: ",") {
                    index = scanner.skipWhitespace(from: index &+ 1)
                    if isObject {
                        if capacity &- count < 8 { grow() }
                        index = try addName(scanner, at: index)
                    }
                    continue value
                }
                guard next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw scanner.failure(expecting: "a comma or the end of the array or object", at: index)
                }
                close(&open, &depth, &members, &isObject)
                index &+= 1
            }
            return index
        }
    }

    @inline(__always)
    private func close(_ open: inout Int, _ depth: inout Int, _ members: inout UInt64, _ isObject: inout Bool) {
        let outer = words[open &+ 1]
        words[open &+ 1] = members | UInt64(truncatingIfNeeded: count) &<< 32
        if isObject { (words[open &+ 2], words[open &+ 3]) = (UInt64(truncatingIfNeeded: open &+ 4), 0) }
        (open, members) = (Int(truncatingIfNeeded: outer & 0xFFFF_FFFF) &- 1, outer &>> 32)
        depth &-= 1
        isObject = open >= 0 && Kind(words[open]) == .object
    }

    @inline(__always)
    private mutating func addName(_ scanner: JSONScanner, at start: Int) throws(JSONError) -> Int {
        guard scanner.byte(at: start) == UInt8(ascii: "\"") else {
            throw scanner.failure(expecting: "a member name in quotes", at: start)
        }
        let colon = scanner.skipWhitespace(from: try addString(scanner, at: start))
        guard scanner.byte(at: colon) == UInt8(ascii: ":") else {
            throw scanner.failure(expecting: "a colon", at: colon)
        }
        return scanner.skipWhitespace(from: colon &+ 1)
    }

    @inline(__always)
    private mutating func addString(_ scanner: JSONScanner, at start: Int) throws(JSONError) -> Int {
        var isEscaped = false
        let end = try scanner.validateString(at: start &+ 1, isEscaped: &isEscaped)
        append(isEscaped ? .escapedString : .string, start &+ 1, end &- start &- 2)
        return end
    }

    @inline(__always)
    private mutating func append(_ kind: Kind, _ offset: Int, _ length: Int) {
        words[count] = Self.word(kind, offset, length)
        count &+= 1
    }

    @inline(__always)
    static func word(_ kind: Kind, _ offset: Int, _ length: Int) -> UInt64 {
        UInt64(kind.rawValue) | UInt64(truncatingIfNeeded: offset) &<< 3 | UInt64(truncatingIfNeeded: length) &<< 35
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: words, count: count)
        words.deallocate()
        (words, capacity) = (larger, capacity * 2)
    }
}
