internal import Foundation

/// The text of a value while it is encoded, to which the values in it are written one after another.
///
/// A container that is asked for within a value may be written to until that value ends, in any order; it has a draft of its
/// own, which is inserted then.
final class JSONDraft {
    /// A value whose text is not complete yet.
    struct Frame {
        enum Content { case nothing, omitted, scalar, array, object }

        let id: Int
        let step: Step
        /// Where its text begins, and the number of holes before it.
        let start: Int
        let holeCount: Int
        var content = Content.nothing
        /// The number of elements or members.
        var count = 0
        /// The keys that were written, as bits, if all are of one type with one byte; otherwise their names.
        var keys: (type: ObjectIdentifier, bits: UInt64)?
        var names: Set<JSONExactName>?
        /// Whether a name occurs twice, of which the last one counts.
        var hasRepetitions = false
    }

    /// The way from a container to a value in it.
    enum Step {
        case none
        case key(any CodingKey)
        case name(String)
        case element(Int)

        var key: (any CodingKey)? {
            switch self {
            case .none: nil
            case .key(let key): key
            case .name(let name): JSONCodingKey(stringValue: name)
            case .element(let index): JSONCodingKey(index: index)
            }
        }
    }

    let options: LosslessJSONEncoder
    let extras: LosslessJSONEncoder.Extras
    let prefix: [any CodingKey]

    /// What changes, behind a pointer, because each access to a variable of a class is checked for exclusivity.
    private struct State: ~Copyable {
        var text = JSONText()
        var frames: [Frame] = []
        var holes: [(offset: Int, draft: JSONDraft)] = []
        var lastID = 0
    }

    private let state: UnsafeMutablePointer<State>

    init(_ options: LosslessJSONEncoder, _ extras: LosslessJSONEncoder.Extras, prefix: [any CodingKey] = []) {
        (self.options, self.extras, self.prefix) = (options, extras, prefix)
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    var text: JSONText {
        @inline(__always) _read { yield state.pointee.text }
        @inline(__always) _modify { yield &state.pointee.text }
    }
    var frames: [Frame] {
        @inline(__always) _read { yield state.pointee.frames }
        @inline(__always) _modify { yield &state.pointee.frames }
    }
    var holes: [(offset: Int, draft: JSONDraft)] {
        @inline(__always) _read { yield state.pointee.holes }
        @inline(__always) _modify { yield &state.pointee.holes }
    }

    /// Whether the innermost value is the outermost one, whose keys are filtered.
    var filter: ((any CodingKey) -> String?)? { frames.count == 1 && prefix.isEmpty ? extras.keyFilter : nil }

    /// The filter of the keys of a value that is about to be written.
    var nextFilter: ((any CodingKey) -> String?)? { frames.isEmpty && prefix.isEmpty ? extras.keyFilter : nil }

    /// Whether the members of an object that is written as a tree are filtered or sorted.
    var arrangesTrees: Bool { options.sortsKeys || nextFilter != nil }

    func path(_ step: Step = .none) -> [any CodingKey] {
        prefix + frames.compactMap(\.step.key) + [step.key].compactMap(\.self)
    }

    func invalid(_ value: Any, _ step: Step, _ reason: String = "JSON has no way to write this value") -> EncodingError
    {
        .invalidValue(value, .init(codingPath: path(step), debugDescription: reason))
    }

    // MARK: Values

    /// Writes a value of any type.
    ///
    /// - Returns: Whether it was written; a `nil` may be omitted.
    func write<T: Encodable>(_ value: T, _ step: Step) throws -> Bool {
        if let plan = JSONPlan.writer(of: T.self) {
            return try withUnsafePointer(to: value) { try plan.write(UnsafeRawPointer($0), to: self, step) }
        }
        return try self.value(step) { id in try value.encode(to: JSONEncodingNode(draft: self, id: id)) }
    }

    /// Writes a value by calling a closure; what it wrote is dropped if it throws.
    func value(_ step: Step, _ write: (Int) throws -> Void) throws -> Bool {
        let id = begin(step)
        do {
            try write(id)
        } catch {
            clear()
            frames.removeLast()
            throw error
        }
        return end()
    }

    func writeNil() -> Bool {
        if extras.omitsNil { return false }
        text.append("null")
        return true
    }

    /// Writes an array whose elements are sorted by their text, because their order has no meaning.
    func writeSorted<S: Sequence>(_ elements: S, _ step: Step, _ write: (S.Element) throws -> Bool) throws -> Bool {
        try value(step) { id in
            open(.array, id)
            let start = text.count
            var pieces: [[UInt8]] = []
            for element in elements {
                if try write(element) { pieces.append(Array(text.bytes[start...])) }
                text.truncate(to: start)
            }
            for (index, piece) in pieces.sortedUnspecialized(by: { $0.lexicographicallyPrecedes($1) }).enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                piece.withUnsafeBytes { text.append($0) }
            }
        }
    }

    @inline(__always)
    func begin(_ step: Step) -> Int {
        state.pointee.lastID &+= 1
        let id = state.pointee.lastID
        frames.append(Frame(id: id, step: step, start: text.count, holeCount: holes.count))
        return id
    }

    /// Completes the innermost value.
    func end() -> Bool {
        let frame = frames[frames.count - 1]
        switch frame.content {
        case .nothing: text.append("{}")
        case .array: text.append(UInt8(ascii: "]"))
        case .object: text.append(UInt8(ascii: "}"))
        case .omitted, .scalar: break
        }
        if holes.count > frame.holeCount { fillHoles(from: frame.holeCount) }
        if frame.content == .object, options.sortsKeys || frame.hasRepetitions { arrangeMembers(of: frame) }
        frames.removeLast()
        return frame.content != .omitted
    }

    /// Drops what was written of the innermost value.
    func clear() {
        let last = frames.count - 1
        text.truncate(to: frames[last].start)
        if holes.count > frames[last].holeCount { holes.removeSubrange(frames[last].holeCount...) }
        (frames[last].content, frames[last].count, frames[last].keys, frames[last].names) = (.nothing, 0, nil, nil)
        frames[last].hasRepetitions = false
    }

    // MARK: Containers that are filled in any order

    /// Leaves a hole for a value that is written until the innermost one ends, and which goes on with an earlier value.
    func hole(_ step: Step, after earlier: Range<Int>? = nil) -> JSONDraft {
        let draft = detached(step, isUsable: true)
        if let earlier { draft.text.append(UnsafeRawBufferPointer(rebasing: text.bytes[earlier])) }
        draft.frames[0].content = earlier == nil ? .nothing : .scalar
        holes.append((text.count, draft))
        text.append("null")
        return draft
    }

    /// A draft that is not inserted; if it is not usable, what is written to it throws.
    func detached(_ step: Step, isUsable: Bool) -> JSONDraft {
        let draft = JSONDraft(options, extras, prefix: path(step))
        if isUsable { _ = draft.begin(.none) }
        return draft
    }

    private func fillHoles(from first: Int) {
        var place = holes[first].offset
        let old = Array(text.bytes[place...])
        let shift = place
        text.truncate(to: place)
        old.withUnsafeBytes { old in
            for (offset, draft) in holes[first...] {
                text.append(UnsafeRawBufferPointer(rebasing: old[place - shift..<offset - shift]))
                if draft.end() { text.append(draft.text.bytes) } else { text.append("null") }
                place = offset + 4
            }
            text.append(UnsafeRawBufferPointer(rebasing: old[(place - shift)...]))
        }
        holes.removeSubrange(first...)
    }
}
