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
    private let prefix: [any CodingKey]

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
    private var frames: [Frame] {
        @inline(__always) _read { yield state.pointee.frames }
        @inline(__always) _modify { yield &state.pointee.frames }
    }
    private var holes: [(offset: Int, draft: JSONDraft)] {
        @inline(__always) _read { yield state.pointee.holes }
        @inline(__always) _modify { yield &state.pointee.holes }
    }

    /// Whether the innermost value is the outermost one, whose keys are filtered.
    private var filter: ((any CodingKey) -> String?)? { frames.count == 1 && prefix.isEmpty ? extras.keyFilter : nil }

    /// The filter of the keys of a value that is about to be written.
    var nextFilter: ((any CodingKey) -> String?)? { frames.isEmpty && prefix.isEmpty ? extras.keyFilter : nil }

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
    private func begin(_ step: Step) -> Int {
        state.pointee.lastID &+= 1
        let id = state.pointee.lastID
        frames.append(Frame(id: id, step: step, start: text.count, holeCount: holes.count))
        return id
    }

    /// Completes the innermost value.
    private func end() -> Bool {
        let frame = frames[frames.count - 1]
        switch frame.content {
        case .nothing: text.append("{}")
        case .array: text.append(UInt8(ascii: "]"))
        case .object: text.append(UInt8(ascii: "}"))
        case .omitted, .scalar: break
        }
        if holes.count > frame.holeCount { fillHoles(from: frame.holeCount) }
        if options.sortsKeys, frame.content == .object { sortMembers(of: frame) }
        frames.removeLast()
        return frame.content != .omitted
    }

    /// Drops what was written of the innermost value.
    private func clear() {
        let last = frames.count - 1
        text.truncate(to: frames[last].start)
        if holes.count > frames[last].holeCount { holes.removeSubrange(frames[last].holeCount...) }
        (frames[last].content, frames[last].count, frames[last].keys, frames[last].names) = (.nothing, 0, nil, nil)
    }

    // MARK: Containers

    /// Whether a value is the innermost one, so that it can be written to.
    @inline(__always)
    private func isInnermost(_ id: Int) -> Bool { frames.last?.id == id }

    @inline(__always)
    private func requireInnermost(_ id: Int, _ value: @autoclosure () -> Any) throws {
        if isInnermost(id) { return }
        throw invalid(value(), .none, "its container is not that of the value that is being encoded")
    }

    /// Makes a value an array or an object, unless it is one.
    func open(_ content: Frame.Content, _ id: Int) {
        guard isInnermost(id), frames[frames.count - 1].content != content else { return }
        clear()
        frames[frames.count - 1].content = content
        text.append(content == .array ? UInt8(ascii: "[") : UInt8(ascii: "{"))
    }

    func count(_ id: Int) -> Int { isInnermost(id) ? frames[frames.count - 1].count : 0 }

    /// Writes the only part of a value.
    func writeOnly(_ id: Int, _ value: @autoclosure () -> Any, _ write: () throws -> Bool) throws {
        try requireInnermost(id, value())
        clear()
        let isWritten = try write()
        frames[frames.count - 1].content = isWritten ? .scalar : .omitted
    }

    /// Writes an element.
    func writeElement(_ id: Int, _ value: @autoclosure () -> Any, _ write: (Step) throws -> Bool) throws {
        try requireInnermost(id, value())
        let (start, last) = (text.count, frames.count - 1)
        let index = frames[last].count
        if index > 0 { text.append(UInt8(ascii: ",")) }
        frames[last].count = index &+ 1
        try finish(from: start, .element(index), write)
    }

    /// Writes a member, unless its key is dropped.
    @inline(__always)
    func writeMember<K: CodingKey>(_ key: K, _ names: JSONKeyNames, _ id: Int, _ write: (Step) throws -> Bool) throws {
        let start = text.count
        if try writeName(key, names, id) { try finish(from: start, .key(key), write) }
    }

    /// Writes the name of a member, and returns whether it was written.
    @inline(never)
    private func writeName<K: CodingKey>(_ key: K, _ names: JSONKeyNames, _ id: Int) throws -> Bool {
        try requireInnermost(id, key)
        if filter != nil || !options.keys.isTrivial {
            guard let name = filter.map({ $0(key) }) ?? options.keys.encoding(key.stringValue) else { return false }
            writeName(name, isNew: false)
        } else {
            names.with(key) { name in
                if let byte = names.byte(of: key), isNew(byte, of: ObjectIdentifier(K.self)) {
                    writeComma()
                    text.write(string: UnsafeRawBufferPointer(start: name.bytes, count: name.count))
                    text.append(UInt8(ascii: ":"))
                } else {
                    writeName(key.stringValue, isNew: false)
                }
            }
        }
        return true
    }

    /// Writes a member of an object whose names are data.
    func writeMember(named name: String, _ write: (Step) throws -> Bool) throws {
        let start = text.count
        guard let written = filter.map({ $0(JSONCodingKey(stringValue: name)) }) ?? name else { return }
        writeName(written, isNew: filter == nil)
        try finish(from: start, .name(name), write)
    }

    @inline(never)
    private func finish(from start: Int, _ step: Step, _ write: (Step) throws -> Bool) throws {
        var isWritten = false
        defer {
            if !isWritten {
                text.truncate(to: start)
                frames[frames.count - 1].count -= 1
            }
        }
        isWritten = try write(step)
    }

    @inline(__always)
    private func writeComma() {
        let last = frames.count - 1
        if frames[last].count > 0 { text.append(UInt8(ascii: ",")) }
        frames[last].count &+= 1
    }

    private func writeName(_ name: String, isNew: Bool) {
        if !isNew { dropMember(named: name) }
        writeComma()
        text.write(name)
        text.append(UInt8(ascii: ":"))
    }

    /// Notes a key with one byte, and returns whether it was not written before, as far as its bits tell.
    @inline(__always)
    private func isNew(_ byte: Int, of type: ObjectIdentifier) -> Bool {
        let last = frames.count - 1
        guard frames[last].names == nil else { return false }
        let keys = frames[last].keys ?? (type, 0)
        guard keys.type == type, keys.bits & 1 << byte == 0 else { return false }
        frames[last].keys = (type, keys.bits | 1 << byte)
        return true
    }

    /// Notes a name, and drops the member that has it already: the last one counts.
    private func dropMember(named name: String) {
        let last = frames.count - 1
        if frames[last].names == nil {
            frames[last].names = []
            forEachMember(of: frames[last]) { name, _ in
                frames[last].names?.insert(JSONExactName(text.string(in: name)))
            }
        }
        guard frames[last].names?.insert(JSONExactName(name)).inserted == false else { return }
        var found: Range<Int>?
        forEachMember(of: frames[last]) { if JSONExactName(text.string(in: $0)) == JSONExactName(name) { found = $1 } }
        guard var range = found else { return }
        // With the comma after it, or else the one before it.
        if range.upperBound < text.count {
            range = range.lowerBound..<range.upperBound + 1
        } else if frames[last].count > 1 {
            range = range.lowerBound - 1..<range.upperBound
        }
        text.replace(range, with: [])
        frames[last].count -= 1
        holes.removeAll { range.contains($0.offset) }
        for hole in holes.indices where holes[hole].offset >= range.upperBound { holes[hole].offset -= range.count }
    }

    /// Calls a closure with the ranges of the names, without quotes, and of all members of an object.
    private func forEachMember(of frame: Frame, _ body: (Range<Int>, Range<Int>) -> Void) {
        let scanner = JSONScanner(text.bytes)
        var members = JSONScanner.MemberIterator(scanner, objectAt: frame.start)
        for _ in 0..<frame.count {
            guard let (name, _) = members.next(), let end = members.valueEnd() else { return }
            body(name, name.lowerBound - 1..<end)
        }
    }

    /// Sorts the members of an object by the bytes of their names.
    private func sortMembers(of frame: Frame) {
        var members: [(name: Range<Int>, range: Range<Int>)] = []
        members.reserveCapacity(frame.count)
        forEachMember(of: frame) { members.append(($0, $1)) }
        let bytes = text.bytes
        let isSorted = zip(members, members.dropFirst()).allSatisfy { one, other in
            bytes[one.name].lexicographicallyPrecedes(bytes[other.name])
        }
        if isSorted { return }
        var sorted = JSONText()
        for member in members.sortedUnspecialized(by: { bytes[$0.name].lexicographicallyPrecedes(bytes[$1.name]) }) {
            sorted.append(sorted.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            sorted.append(UnsafeRawBufferPointer(rebasing: bytes[member.range]))
        }
        text.truncate(to: frame.start)
        text.append(sorted.bytes)
        text.append(UInt8(ascii: "}"))
    }

    // MARK: Containers that are filled in any order

    /// Leaves a hole for a value that is written until the innermost one ends.
    func hole(_ step: Step) -> JSONDraft {
        let draft = JSONDraft(options, extras, prefix: path(step))
        _ = draft.begin(.none)
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
