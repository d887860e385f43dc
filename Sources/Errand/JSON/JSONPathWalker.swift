/// Follows the steps of one path through one validated text.
///
/// It is recursive only for `*` and strings, at most once for each of these steps and each level of the text.
struct JSONPathWalker {
    /// A position in the text.
    enum Node {
        case value(at: Int)
        /// Some elements of an array, from the first byte of the first to the last byte of the last.
        case elements(Range<Int>)
    }

    enum Outcome {
        case node(Node)
        /// The values that `*` collected, separated by commas.
        case items([UInt8])
        /// A value that is not part of the text.
        case text([UInt8])
    }

    let steps: [JSONPath.Step]
    let scanner: JSONScanner
    let maximumDepth: Int

    /// Follows the steps from the one at `start`, where the paths in errors begin.
    func walk(from node: Node, step start: Int, isOptional: inout Bool) throws(JSONError) -> Outcome {
        var node = node
        for position in start..<steps.count {
            switch steps[position] {
            case .every: return try every(node, first: start, position: position, isOptional: &isOptional)
            case .json: return try json(node, first: start, position: position, isOptional: &isOptional)
            case let step:
                do throws(JSONError) {
                    node = try follow(step, from: node)
                } catch {
                    // A missing value is the target of this step; a value of the wrong type is its source.
                    let last = error.reason == .missing ? position + 1 : position
                    throw error.inside(JSONPath.text(of: steps[start..<last]))
                }
            }
        }
        return .node(node)
    }

    /// Follows one step that leads to a single position.
    private func follow(_ step: JSONPath.Step, from node: Node) throws(JSONError) -> Node {
        switch step {
        case .member(let name): return .value(at: try member(name, of: node))
        case .element(let index): return .value(at: try element(index, of: node))
        case .range(let first, let count): return .elements(try elements(first, count, of: node))
        case .anArray:
            _ = try array(node)
            return node
        case .every, .json: return node
        }
    }

    private func member(_ name: JSONName, of node: Node) throws(JSONError) -> Int {
        guard case .value(let start) = node, type(of: node) == .object else {
            throw mismatch(node, expected: "an object")
        }
        guard let value = scanner.member(name, ofObjectAt: start) else {
            throw JSONError(.missing, offset: start)
        }
        return value
    }

    private func element(_ index: Int, of node: Node) throws(JSONError) -> Int {
        var elements = try array(node)
        var starts: [Int] = []
        var count = 0
        while let start = elements.next() {
            if count == index { return start }
            // A negative index requires the positions of the last elements.
            if index < 0 { starts.append(start) }
            count += 1
        }
        guard index < 0, count + index >= 0 else {
            throw JSONError(.indexOutOfRange(index: index, count: count), offset: offset(of: node))
        }
        return starts[count + index]
    }

    private func elements(_ start: Int, _ count: Int, of node: Node) throws(JSONError) -> Range<Int> {
        var elements = try array(node)
        var first = start
        if start < 0 {
            var all = elements
            var total = 0
            while all.next() != nil { total += 1 }
            first = max(total + start, 0)
        }
        var position = 0
        var found: Range<Int>?
        while count == 0 || position - first < count, let element = elements.next() {
            if position >= first, let end = elements.elementEnd() {
                found = (found?.lowerBound ?? element)..<end
            }
            position += 1
        }
        guard first <= position else {
            throw JSONError(.indexOutOfRange(index: start, count: position), offset: offset(of: node))
        }
        return found ?? 0..<0
    }

    private func every(
        _ node: Node,
        first: Int,
        position: Int,
        isOptional: inout Bool
    ) throws(JSONError) -> Outcome {
        let before = JSONPath.text(of: steps[first..<position])
        var items: [UInt8] = []
        if case .value(let start) = node, type(of: node) == .object {
            isOptional = false
            var members = JSONScanner.MemberIterator(scanner, objectAt: start)
            while let member = members.next() {
                // The member's name comes from the body, so the error must not contain it.
                do {
                    try append(member.value, to: &items, step: position + 1, isOptional: &isOptional)
                } catch {
                    throw error.inside(before.isEmpty ? "*" : before + ".*")
                }
            }
            return .items(items)
        }
        guard type(of: node) == .array else { throw mismatch(node, expected: "an array or an object").inside(before) }
        isOptional = false
        var elements = try array(node)
        var index = 0
        while let element = elements.next() {
            do {
                try append(element, to: &items, step: position + 1, isOptional: &isOptional)
            } catch {
                throw error.inside(before + "[\(index)]")
            }
            index += 1
        }
        return .items(items)
    }

    private func append(
        _ start: Int,
        to items: inout [UInt8],
        step: Int,
        isOptional: inout Bool
    ) throws(JSONError) {
        let outcome = try walk(from: .value(at: start), step: step, isOptional: &isOptional)
        if case .items(let inner) = outcome, inner.isEmpty { return }
        if !items.isEmpty { items.append(UInt8(ascii: ",")) }
        if case .node(.value(let start)) = outcome {
            items.append(contentsOf: scanner.bytes[scanner.range(ofValueAt: start)])
        } else {
            items.append(contentsOf: text(of: outcome))
        }
    }

    private func json(_ node: Node, first: Int, position: Int, isOptional: inout Bool) throws(JSONError) -> Outcome {
        guard case .value(let start) = node, type(of: node) == .string else {
            let before = JSONPath.text(of: steps[first..<position])
            throw mismatch(node, expected: "a string that contains JSON").inside(before)
        }
        let content = scanner.unescapedBytes(in: scanner.content(ofStringAt: start))
        isOptional = false
        var isInnerOptional = false
        let result = content.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try JSONScanner.repairing(bytes) { (bytes) throws(JSONError) -> Outcome in
                    let value = try JSONScanner.validate(bytes, maximumDepth: maximumDepth)
                    let walker = JSONPathWalker(steps: steps, scanner: JSONScanner(bytes), maximumDepth: maximumDepth)
                    let node = Node.value(at: value.lowerBound)
                    let outcome = try walker.walk(from: node, step: position + 1, isOptional: &isInnerOptional)
                    if case .items = outcome { return outcome }
                    return Outcome.text(walker.text(of: outcome))
                }.value
            }
        }
        do {
            return try result.get()
        } catch {
            throw error.inside(JSONPath.text(of: steps[first...position]))
        }
    }

    /// Returns the JSON text of an outcome; values that `*` collected have no brackets, so that more can be appended.
    func text(of outcome: Outcome) -> [UInt8] {
        switch outcome {
        case .node(.value(let start)): Array(scanner.bytes[scanner.range(ofValueAt: start)])
        case .node(.elements(let range)):
            [UInt8(ascii: "[")] + scanner.bytes[range] + [UInt8(ascii: "]")]
        case .items(let items): items
        case .text(let text): text
        }
    }

    private func array(_ node: Node) throws(JSONError) -> JSONScanner.ElementIterator {
        switch node {
        case .elements(let range): return JSONScanner.ElementIterator(scanner, elements: range)
        case .value(let start):
            guard type(of: node) == .array else { throw mismatch(node, expected: "an array") }
            return JSONScanner.ElementIterator(scanner, arrayAt: start)
        }
    }

    private func type(of node: Node) -> JSONType? {
        guard case .value(let start) = node else { return .array }
        return JSONType(firstByte: scanner.byte(at: start))
    }

    private func offset(of node: Node) -> Int {
        switch node {
        case .value(let start): start
        case .elements(let range): range.lowerBound
        }
    }

    private func mismatch(_ node: Node, expected: String) -> JSONError {
        guard let type = type(of: node), type != .null else { return JSONError(.null, offset: offset(of: node)) }
        return JSONError(.typeMismatch(expected: expected, found: type.phrase), offset: offset(of: node))
    }
}
