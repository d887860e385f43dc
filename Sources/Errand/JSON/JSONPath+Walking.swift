extension JSONPath {
    /// What a path leads to.
    enum Match: Sendable, Hashable {
        /// A part of the text.
        case range(Range<Int>)
        /// A JSON text of its own: an array put together by a range or `*`, or something inside a string.
        case assembled([UInt8])
    }

    /// Finds the value that must be there; a null is a value.
    ///
    /// - Parameters:
    ///   - bytes: The whole body, which has been validated.
    ///   - payload: The range of the payload; the whole body when `nil`.
    ///   - maximumDepth: How deep JSON inside a string may nest.
    /// - Returns: The part of `bytes`, or a text of its own.
    /// - Throws: `missing`, `null` for a step into a null, `typeMismatch`, `indexOutOfRange`, each with the path so
    ///   far; `pathSyntax` for a literal with a mistake.
    func range(
        in bytes: UnsafeRawBufferPointer,
        payload: Range<Int>? = nil,
        maximumDepth: Int = JSONScanner.defaultMaximumDepth
    ) throws(JSONError) -> Match {
        var isOptional = false
        return try walk(bytes, payload, maximumDepth, &isOptional)
    }

    /// Finds the value if it is there: `nil` when a member on the way is missing or null.
    ///
    /// Members that are missing behind a `*` or inside a string are errors here too, and a null at the end is a value.
    ///
    /// - Parameters:
    ///   - bytes: The whole body, which has been validated.
    ///   - payload: The range of the payload; the whole body when `nil`.
    ///   - maximumDepth: How deep JSON inside a string may nest.
    /// - Returns: The part of `bytes`, a text of its own, or `nil`.
    /// - Throws: What ``range(in:payload:maximumDepth:)`` throws, but for what gives `nil`.
    func optionalRange(
        in bytes: UnsafeRawBufferPointer,
        payload: Range<Int>? = nil,
        maximumDepth: Int = JSONScanner.defaultMaximumDepth
    ) throws(JSONError) -> Match? {
        var isOptional = true
        do {
            return try walk(bytes, payload, maximumDepth, &isOptional)
        } catch {
            if isOptional, error.reason == .missing || error.reason == .null { return nil }
            throw error
        }
    }

    /// Walks the path; `isOptional` becomes `false` once the walk has left the plain part of it.
    private func walk(
        _ bytes: UnsafeRawBufferPointer,
        _ payload: Range<Int>?,
        _ maximumDepth: Int,
        _ isOptional: inout Bool
    ) throws(JSONError) -> Match {
        let parts = try get()
        let scanner = JSONScanner(bytes)
        let start = parts.anchor == .payload ? payload?.clamped(to: 0..<bytes.count).lowerBound : nil
        let first = scanner.skipWhitespace(from: start ?? 0)
        let walker = JSONPathWalker(steps: parts.steps, scanner: scanner, maximumDepth: maximumDepth)
        do throws(JSONError) {
            guard first < scanner.end else { throw JSONError(.missing) }
            let outcome = try walker.walk(from: .value(at: first), step: 0, isOptional: &isOptional)
            switch outcome {
            case .node(.value(let start)): return .range(scanner.range(ofValueAt: start))
            case .items(let items): return .assembled([UInt8(ascii: "[")] + items + [UInt8(ascii: "]")])
            case .node(.elements), .text: return .assembled(walker.text(of: outcome))
            }
        } catch {
            throw parts.anchor == .root ? error.atRoot() : error
        }
    }
}
