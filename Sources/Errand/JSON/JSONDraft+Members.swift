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

    /// Makes a value an array or an object, unless it is one; what was written of one is continued.
    func open(_ content: Frame.Content, _ id: Int) {
        let last = frames.count - 1
        guard isInnermost(id), frames[last].content != content else { return }
        let bracket = content == .array ? UInt8(ascii: "[") : UInt8(ascii: "{")
        if frames[last].content == .scalar, text.bytes[frames[last].start] == bracket {
            text.truncate(to: text.count - 1)
            var elements = JSONScanner.ElementIterator(JSONScanner(text.bytes), arrayAt: frames[last].start)
            while elements.next() != nil { frames[last].count += 1 }
            forEachMember(of: frames[last]) { _, _ in frames[last].count += 1 }
            frames[last].names = content == .object ? memberNames(of: frames[last]) : nil
        } else {
            clear()
            text.append(bracket)
        }
        frames[last].content = content
    }

    func count(_ id: Int) -> Int { isInnermost(id) ? frames[frames.count - 1].count : 0 }

    /// Writes the only part of a value.
    func writeOnly(_ id: Int, _ value: @autoclosure () -> Any, _ write: () throws -> Bool) throws {
        try requireInnermost(id, value())
        guard frames[frames.count - 1].content == .nothing else {
            throw invalid(value(), .none, "another value was encoded in its place")
        }
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

    /// Writes a member of an object whose names are data, or those of keys that are not written by a container.
    func writeMember(named name: String, isKey: Bool = false, _ write: (Step) throws -> Bool) throws {
        let start = text.count
        let key = JSONCodingKey(stringValue: name)
        let plain = isKey ? options.keys.encoding(name) : name
        guard let written = filter.map({ $0(key) }) ?? plain else { return }
        writeName(written, isNew: filter == nil && !isKey)
        try finish(from: start, .name(name), write)
    }

    /// Writes the value of an element or a member, of which nothing is left if there is none.
    @inline(never)
    private func finish(from start: Int, _ step: Step, _ write: (Step) throws -> Bool) throws {
        let last = frames.count - 1
        var isWritten = false
        defer {
            if !isWritten {
                text.truncate(to: start)
                frames[last].count -= 1
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
        if !isNew { note(JSONExactName(name)) }
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

    /// Records a name.
    private func note(_ name: JSONExactName) {
        let last = frames.count - 1
        if frames[last].names == nil { frames[last].names = memberNames(of: frames[last]) }
        if frames[last].names?.insert(name).inserted == false { frames[last].hasRepetitions = true }
    }

    private func memberNames(of frame: Frame) -> Set<JSONExactName> {
        var names: Set<JSONExactName> = []
        forEachMember(of: frame) { place, _ in names.insert(JSONExactName(text.string(in: place))) }
        return names
    }

    /// Returns the draft of a member that may be written to until the innermost value ends.
    ///
    /// It goes on with what was written for the same key, and is not inserted if the key is dropped.
    func hole<K: CodingKey>(_ key: K, _ names: JSONKeyNames, _ id: Int) -> JSONDraft {
        let earlier = isInnermost(id) ? self.earlier(key, names) : nil
        if let hole = earlier?.hole { return hole }
        var hole: JSONDraft?
        let result = Result {
            try writeMember(key, names, id) {
                hole = self.hole($0, after: earlier?.range)
                return true
            }
        }
        return hole ?? detached(.key(key), isUsable: (try? result.get()) != nil)
    }

    /// The last value of a key in the innermost object, and the draft in it if it is a hole; or `nil`.
    private func earlier<K: CodingKey>(_ key: K, _ names: JSONKeyNames) -> (hole: JSONDraft?, range: Range<Int>)? {
        let frame = frames[frames.count - 1]
        if frame.names == nil, let keys = frame.keys, keys.type == ObjectIdentifier(K.self),
            let byte = names.byte(of: key), keys.bits & 1 << byte == 0
        {
            return nil
        }
        guard let text = filter.map({ $0(key) }) ?? options.keys.encoding(key.stringValue) else { return nil }
        let name = JSONExactName(text)
        guard frame.names?.contains(name) ?? true else { return nil }
        var found: (JSONDraft?, Range<Int>)?
        forEachMember(of: frame) { place, range in
            guard JSONExactName(self.text.string(in: place)) == name else { return }
            let value = place.upperBound + 2..<range.upperBound
            found = (holes.last { $0.offset == value.lowerBound }?.draft, value)
        }
        return found
    }

    /// Calls a closure with the ranges of the names, without quotes, and of all members of an object.
    private func forEachMember(of frame: Frame, _ body: (Range<Int>, Range<Int>) -> Void) {
        let scanner = JSONScanner(text.bytes)
        var members = JSONScanner.MemberIterator(scanner, objectAt: frame.start)
        while let (name, _) = members.next(), let end = members.valueEnd() {
            body(name, name.lowerBound - 1..<end)
        }
    }

    /// Drops all members of a name but the last one, and sorts them by the bytes of their names if the options say so.
    func arrangeMembers(of frame: Frame) {
        var members: [(name: [UInt8], range: Range<Int>)] = []
        forEachMember(of: frame) { members.append((Array(text.string(in: $0).utf8), $1)) }
        if frame.hasRepetitions {
            let last = Dictionary(members.indices.map { (members[$0].name, $0) }) { $1 }
            members = members.indices.filter { last[members[$0].name] == $0 }.map { members[$0] }
        }
        if options.sortsKeys {
            members = members.sortedUnspecialized { $0.name.lexicographicallyPrecedes($1.name) }
        }
        var arranged = JSONText()
        for member in members {
            arranged.append(arranged.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            arranged.append(UnsafeRawBufferPointer(rebasing: text.bytes[member.range]))
        }
        text.truncate(to: frame.start)
        text.append(arranged.bytes)
        text.append(UInt8(ascii: "}"))
    }
}
