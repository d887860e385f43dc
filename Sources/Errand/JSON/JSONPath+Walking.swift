extension JSONPath {
    /// The result of a path.
    enum Match: Sendable, Hashable {
        /// A range of the text.
        case range(Range<Int>)
        /// A separate JSON text: an array that was assembled by a range or `*`, or a value inside a string.
        case assembled([UInt8])
    }

    /// Returns the value at a path, which must exist; a null is a value.
    ///
    /// - Parameters:
    ///   - bytes: The complete body, which must have been validated.
    ///   - payload: The range of the payload, or `nil` for the complete body.
    ///   - maximumDepth: The maximum nesting depth of JSON inside a string.
    /// - Returns: The range in `bytes`, or a separate text.
    /// - Throws: `missing`, `null` for a step into a null, `typeMismatch` or `indexOutOfRange`, each with the path so
    ///   far; `pathSyntax` for a literal with invalid syntax.
    func range(
        in bytes: UnsafeRawBufferPointer,
        payload: Range<Int>? = nil,
        maximumDepth: Int = JSONDepth.standard
    ) throws(JSONError) -> Match {
        var isOptional = false
        return try walk(bytes, payload, maximumDepth, &isOptional)
    }

    /// Returns the value at a path, or `nil` if a member on the path is missing or null.
    ///
    /// Members that are missing after a `*` or inside a string are errors here too, and a null at the end is a value.
    ///
    /// - Parameters:
    ///   - bytes: The complete body, which must have been validated.
    ///   - payload: The range of the payload, or `nil` for the complete body.
    ///   - maximumDepth: The maximum nesting depth of JSON inside a string.
    /// - Returns: The range in `bytes`, a separate text, or `nil`.
    /// - Throws: The other errors of ``range(in:payload:maximumDepth:)``.
    func optionalRange(
        in bytes: UnsafeRawBufferPointer,
        payload: Range<Int>? = nil,
        maximumDepth: Int = JSONDepth.standard
    ) throws(JSONError) -> Match? {
        var isOptional = true
        do {
            return try walk(bytes, payload, maximumDepth, &isOptional)
        } catch {
            if isOptional, error.reason == .missing || error.reason == .null { return nil }
            throw error
        }
    }

    /// Follows the path; sets `isOptional` to `false` at the first `*` or JSON inside a string.
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
