internal import Foundation

/// Elements and members.
extension JSONDraft {
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

    /// Writes the value of an element or a member, of which nothing is left if there is none.
    @inline(never)
    private func finish(from start: Int, _ step: Step, _ write: (Step) throws -> Bool) throws {
        let last = frames.count - 1
        let repeated = frames[last].repeated.take()
        func rollBack() {
            text.truncate(to: start)
            frames[last].count -= 1
        }
        do {
            if try !write(step) { rollBack() }
        } catch {
            rollBack()
            throw error
        }
        // The last one counts, unless it has failed.
        if let repeated { dropMember(named: repeated, before: start) }
    }

    @inline(__always)
    private func writeComma() {
        let last = frames.count - 1
        if frames[last].count > 0 { text.append(UInt8(ascii: ",")) }
        frames[last].count &+= 1
    }

    private func writeName(_ name: String, isNew: Bool) {
        if !isNew { frames[frames.count - 1].repeated = repeated(JSONExactName(name)) }
        writeComma()
        text.write(name)
        text.append(UInt8(ascii: ":"))
    }

    /// Records a key with one byte, and returns whether its bits show that it was not written before.
    @inline(__always)
    private func isNew(_ byte: Int, of type: ObjectIdentifier) -> Bool {
        let last = frames.count - 1
        guard frames[last].names == nil else { return false }
        let keys = frames[last].keys ?? (type, 0)
        guard keys.type == type, keys.bits & 1 << byte == 0 else { return false }
        frames[last].keys = (type, keys.bits | 1 << byte)
        return true
    }

    /// Records a name, and returns it if it was recorded before.
    private func repeated(_ name: JSONExactName) -> JSONExactName? {
        let last = frames.count - 1
        if frames[last].names == nil {
            var names: Set<JSONExactName> = []
            forEachMember(of: frames[last]) { place, _ in names.insert(JSONExactName(text.string(in: place))) }
            frames[last].names = names
        }
        return frames[last].names?.insert(name).inserted == false ? name : nil
    }

    /// Drops the member with a name that begins before an offset.
    private func dropMember(named name: JSONExactName, before end: Int) {
        let last = frames.count - 1
        var found: Range<Int>?
        forEachMember(of: frames[last]) { place, range in
            if range.lowerBound < end, JSONExactName(text.string(in: place)) == name { found = range }
        }
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
    func sortMembers(of frame: Frame) {
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
}
