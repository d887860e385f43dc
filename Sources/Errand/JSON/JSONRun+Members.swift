/// Members of objects.
extension JSONRun {
    /// The name of a member, as it is compared.
    @inline(__always)
    private func name(_ word: Int) -> JSONKeyName.Bytes {
        if keepsNames, index.kind(word) == .string { return bytes(word) }
        return otherName(word)
    }

    @inline(never)
    private func otherName(_ word: Int) -> JSONKeyName.Bytes {
        let name = state.pointee.names[number(ofName: word)].name
        return UnsafeRawBufferPointer(start: name.bytes, count: name.count)
    }

    /// The name of a member, as it is in the text.
    func rawName(_ word: Int) -> String {
        index.kind(word) == .null ? state.pointee.names[index.offset(word)].raw : text(word)
    }

    /// The place of a name in the list of names, which its word has from now on.
    private func number(ofName word: Int) -> Int {
        if index.kind(word) == .null { return index.offset(word) }
        let raw = text(word)
        var number = state.pointee.names.count
        if let known = state.pointee.nameNumbers[JSONExactName(raw)] {
            number = known
        } else {
            var converted = options.keys.converting(raw)
            let name = converted.withUTF8 { utf8 in
                let copy = UnsafeMutableRawPointer.allocate(byteCount: utf8.count + 1, alignment: 1)
                UnsafeMutableRawBufferPointer(start: copy, count: utf8.count).copyMemory(
                    from: UnsafeRawBufferPointer(utf8)
                )
                return JSONKeyName(copy, utf8.count)
            }
            state.pointee.names.append((name, raw))
            state.pointee.nameNumbers[JSONExactName(raw)] = number
        }
        index.words[word] = JSONIndex.word(.null, number, 0)
        return number
    }

    /// Whether the member with a name is one: if nulls are dropped, it must have another value.
    @inline(__always)
    func isMember(_ word: Int) -> Bool { !options.dropsNulls || index.kind(word &+ 1) != .null }

    /// Returns the word of the value of the first member with a name, or `nil` if there is none.
    ///
    /// Models read their members in the order of the text, mostly; so the next one is compared first. Members that have been
    /// passed are known by a digest: one that is asked for may be among them only if its bit is set.
    @inline(__always)
    func find(_ wanted: JSONKeyName, in object: Int) -> Int? {
        let passed = index.words[object &+ 3]
        guard passed & wanted.digest == 0 else { return findPassed(wanted, in: object) }
        let next = Int(truncatingIfNeeded: index.words[object &+ 2] & 0xFFFF_FFFF)
        guard next < index.end(object), wanted.equals(name(next)), isMember(next) else {
            return findLater(wanted, in: object)
        }
        index.words[object &+ 2] =
            index.words[object &+ 2] & Self.dataFlag | UInt64(truncatingIfNeeded: index.after(next &+ 1))
        index.words[object &+ 3] = passed | wanted.digest
        return next &+ 1
    }

    @inline(never)
    private func findLater(_ wanted: JSONKeyName, in object: Int) -> Int? {
        var passed = index.words[object &+ 3]
        var next = Int(truncatingIfNeeded: index.words[object &+ 2] & 0xFFFF_FFFF)
        let end = index.end(object)
        while next < end {
            let name = name(next)
            let following = index.after(next &+ 1)
            if wanted.equals(name), isMember(next) {
                index.words[object &+ 2] =
                    index.words[object &+ 2] & Self.dataFlag | UInt64(truncatingIfNeeded: following)
                index.words[object &+ 3] = passed | wanted.digest
                return next &+ 1
            }
            passed |= JSONKeyName.digest(name)
            next = following
        }
        // What is absent has been looked for in all the rest, which is done once in a large object.
        if index.count(object) > Self.tableThreshold { index.words[object &+ 3] = .max }
        return nil
    }

    @inline(never)
    private func findPassed(_ wanted: JSONKeyName, in object: Int) -> Int? {
        guard index.count(object) > Self.tableThreshold else {
            var next = object &+ 4
            let end = index.end(object)
            while next < end {
                if wanted.equals(name(next)), isMember(next) { return next &+ 1 }
                next = index.after(next &+ 1)
            }
            return nil
        }
        if state.pointee.tables[object] == nil {
            var table: [JSONKeyName: Int] = [:]
            table.reserveCapacity(index.count(object))
            for member in members(object) where isMember(member) {
                let name = name(member)
                guard let bytes = name.baseAddress else { continue }
                let key = JSONKeyName(bytes, name.count)
                if table[key] == nil { table[key] = member &+ 1 }
            }
            state.pointee.tables[object] = table
        }
        return state.pointee.tables[object]?[wanted]
    }

    /// The words of the names of an object, in order.
    func members(_ object: Int) -> some Sequence<Int> {
        let end = index.end(object)
        return sequence(state: object &+ 4) { (next: inout Int) -> Int? in
            guard next < end else { return nil }
            defer { next = self.index.after(next &+ 1) }
            return next
        }
    }

    /// Marks an object whose names are data, and not those of properties.
    static var dataFlag: UInt64 { 1 << 63 }
    func isData(_ object: Int) -> Bool { index.words[object &+ 2] & Self.dataFlag != 0 }
    func setData(_ object: Int, _ isData: Bool) {
        index.words[object &+ 2] = index.words[object &+ 2] & ~Self.dataFlag | (isData ? Self.dataFlag : 0)
    }

    /// The name of a member, as it is compared, for a list of keys.
    func comparedName(_ word: Int) -> String { options.keys.converting(rawName(word)) }

    /// The word of a null in place of a member for a superclass.
    func absent(_ key: any CodingKey, in object: Int) -> Int {
        state.pointee.absent = (object, key)
        return index.count
    }
}
