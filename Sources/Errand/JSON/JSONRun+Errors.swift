internal import Foundation

/// Errors, and the coding paths in them.
extension JSONRun {
    /// The coding path of a value, which is looked for in the index: only errors need it.
    func path(of word: Int) -> [any CodingKey] {
        if word == index.count, let absent = state.pointee.absent { return path(of: absent.object) + [absent.key] }
        var (path, container) = (prefix, root)
        while container < word {
            let children = children(of: container)
            let number = children.partitioningIndex { $0 > word } - 1
            guard number >= 0 else { break }
            path.append(key(container, children[number], number))
            container = index.kind(container) == .object ? children[number] &+ 1 : children[number]
        }
        return path
    }

    /// The words of the elements of an array, or of the names of an object's members; many are kept for the next error.
    private func children(of container: Int) -> [Int] {
        if let known = state.pointee.children[container] { return known }
        let isObject = index.kind(container) == .object
        var (children, next) = ([Int](), container &+ (isObject ? 4 : 2))
        let end = index.after(container)
        while next < end {
            children.append(next)
            next = index.after(isObject ? next &+ 1 : next)
        }
        if children.count > 16 { state.pointee.children[container] = children }
        return children
    }

    private func key(_ container: Int, _ child: Int, _ number: Int) -> any CodingKey {
        guard index.kind(container) == .object else { return JSONCodingKey(index: number) }
        let name = rawName(child)
        return JSONCodingKey(stringValue: isData(container) ? name : options.keys.converting(name))
    }

    /// Where each line of the text begins.
    private var lines: [Int] {
        if state.pointee.lines.isEmpty {
            state.pointee.lines = [0] + Self.lineStarts(in: state.pointee.bytes)
            if let before {
                let starts = Self.lineStarts(in: before)
                state.pointee.origin = (starts.count, before.count - (starts.last ?? 0), before.count)
            }
        }
        return state.pointee.lines
    }

    private static func lineStarts(in bytes: some Sequence<UInt8>) -> [Int] {
        bytes.enumerated().filter { $0.element == UInt8(ascii: "\n") }.map { $0.offset + 1 }
    }

    /// What an error says of a value, with the line that a person looks for, and the byte that a program does.
    private func context(_ word: Int, _ what: String, _ error: (any Error)? = nil) -> DecodingError.Context {
        let path = path(of: word)
        // Of a text in a string, the place is another one.
        guard word != index.count, state.pointee.copy == nil else {
            return DecodingError.Context(codingPath: path, debugDescription: what, underlyingError: error)
        }
        let start = index.offset(word)
        let number = lines.partitioningIndex { $0 > start }
        let origin = state.pointee.origin
        let column = start - lines[number - 1] + 1 + (number == 1 ? origin.column : 0)
        let text = "\(what), in line \(origin.line + number), column \(column) (byte \(origin.byte + start))"
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

extension RandomAccessCollection {
    /// The first index whose element, and those after it, satisfy a condition.
    fileprivate func partitioningIndex(where isAfter: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let middle = index(low, offsetBy: count / 2)
            if isAfter(self[middle]) {
                count /= 2
            } else {
                (low, count) = (index(after: middle), count - count / 2 - 1)
            }
        }
        return low
    }
}
