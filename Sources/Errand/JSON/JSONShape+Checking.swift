public import Foundation

extension JSONShape {
    /// Checks that a text is valid JSON of this shape.
    ///
    /// - Parameters:
    ///   - data: The text, as UTF-8.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512. The default is 128.
    /// - Throws: The error in the text, or the first value that has another shape, with its path.
    public func check(_ data: Data, maximumDepth: Int = 128) throws(JSONError) {
        _ = try data.repairingJSON { (bytes) throws(JSONError) in
            let range = try JSONScanner.validate(bytes, maximumDepth: maximumDepth)
            try check(at: range.lowerBound, in: JSONScanner(bytes))
        }
    }

    /// Checks the value that begins at `start` of a validated text.
    ///
    /// The recursion is as deep as the shape, which the caller wrote, and not as deep as the text.
    ///
    /// - Parameters:
    ///   - start: The first byte of the value.
    ///   - scanner: The text.
    /// - Throws: The first value that has another shape, with its path.
    func check(at start: Int, in scanner: JSONScanner) throws(JSONError) {
        let type = JSONType(firstByte: scanner.byte(at: start))
        if type == .null {
            if isNullable || rule == .null { return }
            throw JSONError(.null, offset: start)
        }
        guard expectedType == nil || type == expectedType else {
            let expected = rule.isInteger ? "an integer" : expectedType?.phrase ?? "a value"
            throw JSONError(.typeMismatch(expected: expected, found: scanner.typeName(at: start)), offset: start)
        }
        switch rule {
        case .any, .null, .bool, .number: return
        case .integer(let bounds): try check(integer: bounds, at: start, in: scanner)
        case .string(let lengths, let choices): try check(string: lengths, choices, at: start, in: scanner)
        case .elements(let shape, let counts): try check(elements: shape, counts, at: start, in: scanner)
        case .members(let members, let allowsOthers): try check(members, allowsOthers, at: start, in: scanner)
        case .values(let shape): try check(values: shape, at: start, in: scanner)
        case .invalid(let mistake): throw JSONError(.violates(rule: mistake), offset: start)
        }
    }

    private var expectedType: JSONType? {
        switch rule {
        case .any, .invalid: nil
        case .null: .null
        case .bool: .bool
        case .number, .integer: .number
        case .string: .string
        case .elements: .array
        case .members, .values: .object
        }
    }

    private func check(integer bounds: ClosedRange<Int>, at start: Int, in scanner: JSONScanner) throws(JSONError) {
        let text = scanner.bytes[scanner.range(ofValueAt: start)]
        guard let value = JSONNumber(validated: String(decoding: text, as: UTF8.self)).int else {
            throw JSONError(.violates(rule: "an integer of at most 64 bits, without a fraction"), offset: start)
        }
        if bounds.contains(value) { return }
        let least = bounds.lowerBound == .min ? "" : "at least \(bounds.lowerBound)"
        let most = bounds.upperBound == .max ? "" : "at most \(bounds.upperBound)"
        let both = least.isEmpty || most.isEmpty ? "" : " and "
        throw JSONError(.violates(rule: "an integer of \(least)\(both)\(most)"), offset: start)
    }

    private func check(
        string lengths: ClosedRange<Int>,
        _ choices: [JSONName],
        at start: Int,
        in scanner: JSONScanner
    ) throws(JSONError) {
        if choices.isEmpty, lengths == 0 ... .max { return }
        let content = scanner.content(ofStringAt: start)
        if !choices.isEmpty, !choices.contains(where: { $0.matches(content, in: scanner) }) {
            let list = choices.map { "\"\($0.text)\"" }.joined(separator: ", ")
            throw JSONError(.violates(rule: "a string that is one of \(list)"), offset: start)
        }
        guard lengths.contains(scanner.string(in: content).unicodeScalars.count) else {
            throw JSONError(.violates(rule: "a string of \(Self.words(lengths, "characters"))"), offset: start)
        }
    }

    private func check(
        elements shape: JSONShape,
        _ counts: ClosedRange<Int>,
        at start: Int,
        in scanner: JSONScanner
    ) throws(JSONError) {
        var elements = JSONScanner.ElementIterator(scanner, arrayAt: start)
        var count = 0
        while let element = elements.next() {
            do {
                try shape.check(at: element, in: scanner)
            } catch {
                throw error.inside("[\(count)]")
            }
            count += 1
        }
        guard counts.contains(count) else {
            throw JSONError(.violates(rule: "an array of \(Self.words(counts, "elements"))"), offset: start)
        }
    }

    private func check(values shape: JSONShape, at start: Int, in scanner: JSONScanner) throws(JSONError) {
        var members = JSONScanner.MemberIterator(scanner, objectAt: start)
        while let member = members.next() {
            do {
                try shape.check(at: member.value, in: scanner)
            } catch {
                // The names come from the body, so the error must not contain them.
                throw error.inside("*")
            }
        }
    }

    private func check(
        _ members: [Member],
        _ allowsOthers: Bool,
        at start: Int,
        in scanner: JSONScanner
    ) throws(JSONError) {
        var isFound = [Bool](repeating: false, count: members.count)
        var iterator = JSONScanner.MemberIterator(scanner, objectAt: start)
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
            do {
                try member.shape.check(at: next.value, in: scanner)
            } catch {
                throw error.inside(JSONPathParser.spelling(of: member.name.text))
            }
        }
        for (member, isFound) in zip(members, isFound) where !isFound && !member.shape.isOptional {
            throw JSONError(.missing, offset: start, path: JSONPathParser.spelling(of: member.name.text))
        }
    }

    private static func words(_ range: ClosedRange<Int>, _ unit: String) -> String {
        let most = range.upperBound == .max ? "" : " and at most \(range.upperBound)"
        return "at least \(range.lowerBound)\(most) \(unit)"
    }
}

extension JSONShape.Rule {
    fileprivate var isInteger: Bool { if case .integer = self { true } else { false } }
}
