internal import Foundation

/// Errors, and the coding paths in them.
extension JSONRun {
    /// A container on the way to a value, and the child that leads there.
    struct Step {
        let container: Int
        /// The child's word, or that of its name.
        var next: Int
        var number = 0
    }

    /// The coding path of a value, which is looked for in the index: only errors need it.
    ///
    /// The search continues where the last one has ended, so that a model that handles an error for each element of an array
    /// takes time in proportion to its length.
    func path(of word: Int) -> [any CodingKey] {
        if word == index.count, let absent = state.pointee.absent { return path(of: absent.object) + [absent.key] }
        var (steps, used, container) = (state.pointee.steps, 0, root)
        while container < word {
            if used == steps.count || steps[used].container != container || word < steps[used].next {
                steps.removeSubrange(used...)
                steps.append(firstStep(into: container))
            }
            while index.after(child(steps[used])) <= word {
                (steps[used].next, steps[used].number) = (index.after(child(steps[used])), steps[used].number &+ 1)
            }
            container = child(steps[used])
            used &+= 1
        }
        state.pointee.steps = steps
        return prefix + steps[..<used].map(key)
    }

    private func firstStep(into container: Int) -> Step {
        Step(container: container, next: container &+ (index.kind(container) == .object ? 4 : 2))
    }

    private func child(_ step: Step) -> Int { index.kind(step.container) == .object ? step.next &+ 1 : step.next }

    private func key(_ step: Step) -> any CodingKey {
        guard index.kind(step.container) == .object else { return JSONCodingKey(index: step.number) }
        let name = rawName(step.next)
        return JSONCodingKey(stringValue: isData(step.container) ? name : options.keys.converting(name))
    }

    /// What an error says of a value, with the line that a person looks for, and the byte that a program does.
    private func context(_ word: Int, _ what: String, _ error: (any Error)? = nil) -> DecodingError.Context {
        let path = path(of: word)
        // Of a text in a string, the place is another one.
        guard word != index.count, state.pointee.copy == nil else {
            return DecodingError.Context(codingPath: path, debugDescription: what)
        }
        let start = index.offset(word)
        var place = state.pointee.line
        let newline = UInt8(ascii: "\n")
        if start < place.start {
            place.number -= state.pointee.bytes[start..<place.start].count { $0 == newline }
            place.start = (state.pointee.bytes[..<start].lastIndex(of: newline) ?? -1) + 1
            place.end = start
        }
        if start > place.end {
            for index in place.end..<start where state.pointee.bytes[index] == newline {
                (place.number, place.start) = (place.number + 1, index + 1)
            }
            place.end = start
        }
        state.pointee.line = place
        let text = "\(what), in line \(place.number), column \(start - place.start + 1) (byte \(start))"
        return DecodingError.Context(codingPath: path, debugDescription: text, underlyingError: error)
    }

    func mismatch(_ type: any Any.Type, _ expected: JSONType, _ word: Int) -> DecodingError {
        failure(type, .typeMismatch(expected: expected.phrase, found: self.type(word).phrase), word)
    }

    func failure(_ type: any Any.Type, _ reason: JSONError.Reason, _ word: Int) -> DecodingError {
        let context = context(word, JSONError(reason).description, JSONError(reason))
        return index.kind(word) == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func unfit(_ type: any Any.Type, _ word: Int) -> DecodingError {
        let isNumber = index.kind(word) == .number
        let text = "\(self.type(word).phrase) that is no valid or exact \(type)"
        return .dataCorrupted(context(word, text, isNumber ? UnfitNumber(type: "\(type)") : nil))
    }

    func missing(_ key: some CodingKey, _ object: Int) -> DecodingError {
        let text = "No member \"\(key.stringValue)\"; make the property optional if it may be absent"
        return .keyNotFound(key, context(object, text))
    }
}
