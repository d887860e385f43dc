/// Walks the steps of one path over one validated text.
///
/// Calls itself only for `*` and strings, so at most once for each of these steps and each level of the text.
struct JSONPathWalker {
    /// A place in the text.
    enum Node {
        case value(Range<Int>)
        /// Some elements of an array, from the first byte of the first to the last of the last.
        case elements(Range<Int>)
    }

    enum Outcome {
        case node(Node)
        /// What `*` gathered: values with commas between them.
        case items([UInt8])
        /// A value that is not part of the text.
        case text([UInt8])
    }

    let steps: [JSONPath.Step]
    let scanner: JSONScanner
    let maximumDepth: Int

    /// Walks on from `node` with the step at `start`; paths in errors begin there.
    func walk(from node: Node, step start: Int, isOptional: inout Bool) throws(JSONError) -> Outcome {
        var node = node
        for (offset, step) in steps[start...].enumerated() {
            let position = start + offset
            do {
                switch step {
                case .member(let name): node = .value(try member(name, of: node))
                case .element(let index): node = .value(try element(index, of: node))
                case .range(let first, let count): node = .elements(try elements(first, count, of: node))
                case .anArray: _ = try array(node)
                case .every, .json: isOptional = false
                }
            } catch {
                // What is missing is the target of this step; what has the wrong type is its source.
                let last = error.reason == .missing ? position + 1 : position
                throw error.inside(JSONPath.text(of: steps[start..<last]))
            }
            if step == .every { return try every(node, start: start, position: position, isOptional: &isOptional) }
            if step == .json { return try json(node, start: start, position: position, isOptional: &isOptional) }
        }
        return .node(node)
    }

    private func member(_ name: JSONName, of node: Node) throws(JSONError) -> Range<Int> {
        guard case .value(let range) = node, type(of: node) == .object else {
            throw mismatch(node, expected: "an object")
        }
        guard let value = try scanner.member(name, of: range) else {
            throw JSONError(.missing, offset: range.lowerBound)
        }
        return value
    }

    private func element(_ index: Int, of node: Node) throws(JSONError) -> Range<Int> {
        let elements = try array(node)
        let target = index < 0 ? count(elements) + index : index
        var iterator = elements
        var position = 0
        while target >= 0, let range = iterator.next() {
            if position == target { return range }
            position += 1
        }
        throw JSONError(.indexOutOfRange(index: index, count: count(elements)), offset: offset(of: node))
    }

    private func elements(_ start: Int, _ count: Int, of node: Node) throws(JSONError) -> Range<Int> {
        let elements = try array(node)
        let first = start < 0 ? max(self.count(elements) + start, 0) : start
        var iterator = elements
        var position = 0
        var found: Range<Int>?
        while count == 0 || position - first < count, let range = iterator.next() {
            if position >= first { found = (found?.lowerBound ?? range.lowerBound)..<range.upperBound }
            position += 1
        }
        guard first <= position else {
            throw JSONError(.indexOutOfRange(index: start, count: position), offset: offset(of: node))
        }
        return found ?? 0..<0
    }

    private func every(
        _ node: Node,
        start: Int,
        position: Int,
        isOptional: inout Bool
    ) throws(JSONError) -> Outcome {
        let before = JSONPath.text(of: steps[start..<position])
        var items: [UInt8] = []
        if case .value(let range) = node, type(of: node) == .object {
            var members = JSONScanner.MemberIterator(scanner, object: range)
            while let member = members.next() {
                let value = Node.value(member.value)
                // The member's name comes from the body and stays out of the error.
                try append(value, to: &items, step: position + 1, as: before + ".*", isOptional: &isOptional)
            }
            return .items(items)
        }
        guard type(of: node) == .array else { throw mismatch(node, expected: "an array or an object").inside(before) }
        var elements = try array(node)
        var index = 0
        while let element = elements.next() {
            let name = before + "[\(index)]"
            try append(.value(element), to: &items, step: position + 1, as: name, isOptional: &isOptional)
            index += 1
        }
        return .items(items)
    }

    private func append(
        _ node: Node,
        to items: inout [UInt8],
        step: Int,
        as name: String,
        isOptional: inout Bool
    ) throws(JSONError) {
        do {
            let outcome = try walk(from: node, step: step, isOptional: &isOptional)
            let text = text(of: outcome)
            if case .items(let inner) = outcome, inner.isEmpty { return }
            if !items.isEmpty { items.append(UInt8(ascii: ",")) }
            items.append(contentsOf: text)
        } catch {
            throw error.inside(name)
        }
    }

    private func json(_ node: Node, start: Int, position: Int, isOptional: inout Bool) throws(JSONError) -> Outcome {
        guard case .value(let range) = node, type(of: node) == .string else {
            let before = JSONPath.text(of: steps[start..<position])
            throw mismatch(node, expected: "a string that holds JSON").inside(before)
        }
        let content = scanner.unescapedBytes(in: range.lowerBound + 1..<range.upperBound - 1)
        var innerIsOptional = false
        let result = content.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                let value = try JSONScanner.validate(bytes, maximumDepth: maximumDepth)
                let walker = JSONPathWalker(steps: steps, scanner: JSONScanner(bytes), maximumDepth: maximumDepth)
                let outcome = try walker.walk(from: .value(value), step: position + 1, isOptional: &innerIsOptional)
                if case .items = outcome { return outcome }
                return Outcome.text(walker.text(of: outcome))
            }
        }
        do {
            return try result.get()
        } catch {
            throw error.inside(JSONPath.text(of: steps[start...position]))
        }
    }

    /// The JSON text of an outcome; what `*` gathered goes without brackets, to be joined with more.
    func text(of outcome: Outcome) -> [UInt8] {
        switch outcome {
        case .node(.value(let range)): Array(scanner.bytes[range])
        case .node(.elements(let range)):
            [UInt8(ascii: "[")] + scanner.bytes[range] + [UInt8(ascii: "]")]
        case .items(let items): items
        case .text(let text): text
        }
    }

    private func array(_ node: Node) throws(JSONError) -> JSONScanner.ElementIterator {
        switch node {
        case .elements(let range): return JSONScanner.ElementIterator(scanner, elements: range)
        case .value(let range):
            guard type(of: node) == .array else { throw mismatch(node, expected: "an array") }
            return JSONScanner.ElementIterator(scanner, array: range)
        }
    }

    private func count(_ elements: JSONScanner.ElementIterator) -> Int {
        var iterator = elements
        var count = 0
        while iterator.next() != nil { count += 1 }
        return count
    }

    private func type(of node: Node) -> JSONType? {
        guard case .value(let range) = node else { return .array }
        return JSONType(firstByte: scanner.byte(at: range.lowerBound))
    }

    private func offset(of node: Node) -> Int {
        switch node {
        case .value(let range), .elements(let range): range.lowerBound
        }
    }

    private func mismatch(_ node: Node, expected: String) -> JSONError {
        guard let type = type(of: node), type != .null else { return JSONError(.null, offset: offset(of: node)) }
        return JSONError(.typeMismatch(expected: expected, found: type.phrase), offset: offset(of: node))
    }
}
