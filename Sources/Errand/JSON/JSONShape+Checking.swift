public import Foundation

extension JSONShape {
    /// Checks that a text is valid JSON of this shape.
    ///
    /// - Parameters:
    ///   - data: The text, as UTF-8.
    ///   - maximumDepth: How deep arrays and objects may nest, from 1 to 512; 128 when left out.
    /// - Throws: What is wrong with the text, or the first place where it has another shape, with its path.
    public func check(_ data: Data, maximumDepth: Int = 128) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try check(try JSONScanner.validate(bytes, maximumDepth: maximumDepth), in: bytes)
            }
        }
        try result.get()
    }

    /// Checks the value at `range` of a text that has been validated.
    ///
    /// - Parameters:
    ///   - range: The range of the value.
    ///   - bytes: The whole text.
    /// - Throws: The first place where the value has another shape, with its path.
    func check(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(JSONError) {
        try check(range, in: JSONScanner(bytes))
    }

    /// Goes as deep as the shape, which the caller wrote, and not as deep as the text.
    private func check(_ range: Range<Int>, in scanner: JSONScanner) throws(JSONError) {
        let start = range.lowerBound
        let type = JSONType(firstByte: scanner.byte(at: start))
        if type == .null {
            if isNullable || rule == .null { return }
            throw JSONError(.null, offset: start)
        }
        switch rule {
        case .any: return
        case .null: throw mismatch("null", at: start, in: scanner)
        case .bool: if type != .bool { throw mismatch("a Boolean", at: start, in: scanner) }
        case .number: if type != .number { throw mismatch("a number", at: start, in: scanner) }
        case .integer(let bounds):
            guard type == .number else { throw mismatch("an integer", at: start, in: scanner) }
            try check(JSONNumber(validated: String(decoding: scanner.bytes[range], as: UTF8.self)), bounds, at: start)
        case .string(let lengths, let choices):
            guard type == .string else { throw mismatch("a string", at: start, in: scanner) }
            try check(lengths, choices, range, in: scanner)
        case .elements(let shape, let counts):
            guard type == .array else { throw mismatch("an array", at: start, in: scanner) }
            try check(shape, counts, range, in: scanner)
        case .values(let shape):
            guard type == .object else { throw mismatch("an object", at: start, in: scanner) }
            var members = JSONScanner.MemberIterator(scanner, object: range)
            // The names come from the body and stay out of the error.
            while let member = members.next() { try shape.check(member.value, in: scanner, as: "*") }
        case .members(let members, let allowsOthers):
            guard type == .object else { throw mismatch("an object", at: start, in: scanner) }
            try check(members, allowsOthers, range, in: scanner)
        case .invalid(let mistake): throw JSONError(.violates(rule: mistake), offset: start)
        }
    }

    private func check(_ range: Range<Int>, in scanner: JSONScanner, as path: String) throws(JSONError) {
        do {
            try check(range, in: scanner)
        } catch {
            throw error.inside(path)
        }
    }

    private func check(_ number: JSONNumber, _ bounds: ClosedRange<Int>, at start: Int) throws(JSONError) {
        guard let value = number.int else {
            throw JSONError(.violates(rule: "an integer of at most 64 bits, without a fraction"), offset: start)
        }
        if bounds.contains(value) { return }
        let least = bounds.lowerBound == .min ? "" : "at least \(bounds.lowerBound)"
        let most = bounds.upperBound == .max ? "" : "at most \(bounds.upperBound)"
        let both = least.isEmpty || most.isEmpty ? "" : " and "
        throw JSONError(.violates(rule: "an integer of \(least)\(both)\(most)"), offset: start)
    }

    private func check(
        _ lengths: ClosedRange<Int>,
        _ choices: [String],
        _ range: Range<Int>,
        in scanner: JSONScanner
    ) throws(JSONError) {
        if choices.isEmpty, lengths == 0 ... .max { return }
        let string = scanner.string(in: range.lowerBound + 1..<range.upperBound - 1)
        if !choices.isEmpty, !choices.contains(where: { $0.utf8.elementsEqual(string.utf8) }) {
            let list = choices.map { "\"\($0)\"" }.joined(separator: ", ")
            throw JSONError(.violates(rule: "a string that is one of \(list)"), offset: range.lowerBound)
        }
        guard lengths.contains(string.unicodeScalars.count) else {
            let most = lengths.upperBound == .max ? "" : " and at most \(lengths.upperBound)"
            throw JSONError(
                .violates(rule: "a string of at least \(lengths.lowerBound)\(most) characters"),
                offset: range.lowerBound
            )
        }
    }

    private func check(
        _ shape: JSONShape,
        _ counts: ClosedRange<Int>,
        _ range: Range<Int>,
        in scanner: JSONScanner
    ) throws(JSONError) {
        var elements = JSONScanner.ElementIterator(scanner, array: range)
        var count = 0
        while let element = elements.next() {
            do {
                try shape.check(element, in: scanner)
            } catch {
                throw error.inside("[\(count)]")
            }
            count += 1
        }
        guard counts.contains(count) else {
            let most = counts.upperBound == .max ? "" : " and at most \(counts.upperBound)"
            throw JSONError(
                .violates(rule: "an array of at least \(counts.lowerBound)\(most) elements"),
                offset: range.lowerBound
            )
        }
    }

    private func check(
        _ members: [Member],
        _ allowsOthers: Bool,
        _ range: Range<Int>,
        in scanner: JSONScanner
    ) throws(JSONError) {
        var isFound = [Bool](repeating: false, count: members.count)
        var iterator = JSONScanner.MemberIterator(scanner, object: range)
        while let next = iterator.next() {
            guard let index = members.firstIndex(where: { $0.name.matches(next.name, in: scanner) }) else {
                if allowsOthers { continue }
                throw JSONError(.unexpectedMember, offset: next.name.lowerBound - 1)
            }
            let member = members[index]
            if isFound[index] {
                throw JSONError(.duplicateMember(member.name.text), offset: next.name.lowerBound - 1)
            }
            isFound[index] = true
            try member.shape.check(next.value, in: scanner, as: JSONPathParser.spelling(of: member.name.text))
        }
        for (member, isFound) in zip(members, isFound) where !isFound && !member.shape.isOptional {
            let path = JSONPathParser.spelling(of: member.name.text)
            throw JSONError(.missing, offset: range.lowerBound, path: path)
        }
    }

    private func mismatch(_ expected: String, at start: Int, in scanner: JSONScanner) -> JSONError {
        JSONError(.typeMismatch(expected: expected, found: scanner.typeName(at: start)), offset: start)
    }
}
