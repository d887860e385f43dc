/// What a validated text consists of: one word for each name and value, in their order, so that containers find what is in them
/// without reading the text again.
///
/// A word has the kind (3 bits), the offset (32) and the length (29) of a value or name, without quotes. An array has a second
/// word: its number of elements (32 bits) and the index of the word after it (32). An object has that too, and two words for
/// the look-up of its members: the next name in order, and a digest of the names before it.
struct JSONIndex: ~Copyable {
    /// The type of a value; a name is a string.
    enum Kind: UInt8 {
        case null, `false`, `true`, number, string, escapedString, array, object

        // Its eight cases have the values 0 to 7.
        @inline(__always)
        init(_ word: UInt64) { self = unsafeBitCast(UInt8(truncatingIfNeeded: word & 7), to: Kind.self) }
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
            throw JSONError(.violates(rule: "a text of at most 512 MiB"))
        }
        let scanner = JSONScanner(bytes)
        try scanner.finish(at: add(scanner, from: scanner.start(), limit: JSONDepth.clamped(maximumDepth)))
        // What is absent is a null.
        words[count] = 0
    }

    /// Takes over the words of an index.
    init(words: UnsafeMutablePointer<UInt64>, count: Int) { (self.words, self.count, capacity) = (words, count, count) }

    deinit { words.deallocate() }

    /// Leaves the words to the caller.
    consuming func release() -> UnsafeMutablePointer<UInt64> {
        let words = words
        discard self
        return words
    }

    /// Validates one value of any depth, and adds its words.
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
                close(&open, &depth, &members, &isObject, at: index)
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
                index &+= 1
                close(&open, &depth, &members, &isObject, at: index)
            }
            return index
        }
    }

    @inline(__always)
    private func close(
        _ open: inout Int,
        _ depth: inout Int,
        _ members: inout UInt64,
        _ isObject: inout Bool,
        at end: Int
    ) {
        let outer = words[open &+ 1]
        words[open] |= UInt64(truncatingIfNeeded: end &- Int(truncatingIfNeeded: words[open] &>> 3)) &<< 35
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

/// Reading.
extension JSONIndex {
    @inline(__always)
    func kind(_ word: Int) -> Kind { Kind(words[word]) }

    @inline(__always)
    func offset(_ word: Int) -> Int { Int(truncatingIfNeeded: words[word] &>> 3 & 0xFFFF_FFFF) }

    @inline(__always)
    func length(_ word: Int) -> Int { Int(truncatingIfNeeded: words[word] &>> 35) }

    /// The number of elements or members of a container.
    @inline(__always)
    func count(_ container: Int) -> Int { Int(truncatingIfNeeded: words[container &+ 1] & 0xFFFF_FFFF) }

    /// The word after all of a container.
    @inline(__always)
    func end(_ container: Int) -> Int { Int(truncatingIfNeeded: words[container &+ 1] &>> 32) }

    /// The word after a value.
    @inline(__always)
    func after(_ word: Int) -> Int { words[word] & 7 >= 6 ? end(word) : word &+ 1 }

    /// The place of a value or a name, without the quotes of a string.
    @inline(__always)
    func content(_ word: Int) -> Range<Int> { offset(word)..<offset(word) &+ length(word) }

    /// The place of a value, with the quotes of a string.
    func range(_ word: Int) -> Range<Int> {
        let content = content(word)
        switch kind(word) {
        case .string, .escapedString: return content.lowerBound &- 1..<content.upperBound &+ 1
        default: return content
        }
    }

    /// Finds members of the outermost object, and of objects in it.
    ///
    /// - Parameters:
    ///   - tree: The requested members, which are compared after unescaping.
    ///   - bytes: The text.
    /// - Returns: The word of each member's value by its slot, or `nil` if there is no such member. Returns `nil` if the text is not
    ///   an object.
    /// - Throws: `duplicateMember` if a requested member, or one on the path to it, occurs twice in any spelling.
    func members(_ tree: JSONMemberTree, in bytes: UnsafeRawBufferPointer) throws(JSONError) -> [Int?]? {
        guard kind(0) == .object else { return nil }
        var found = [Int?](repeating: nil, count: tree.count)
        try find(tree.nodes, of: 0, in: JSONScanner(bytes), &found)
        return found
    }

    /// Recursive only to the depth of the requested members.
    private func find(
        _ nodes: [JSONMemberTree.Node],
        of object: Int,
        in scanner: JSONScanner,
        _ found: inout [Int?]
    ) throws(JSONError) {
        var name = object &+ 4
        let end = end(object)
        while name < end {
            let range = content(name)
            let value = name &+ 1
            name = after(value)
            guard let node = nodes.first(where: { $0.name.matches(range, in: scanner) }) else { continue }
            guard found[node.slot] == nil else {
                throw scanner.failure(.duplicateMember(node.name.text), at: range.lowerBound - 1)
            }
            found[node.slot] = value
            if !node.children.isEmpty, kind(value) == .object {
                try find(node.children, of: value, in: scanner, &found)
            }
        }
    }
}
