internal import Foundation

/// A type that is encoded without its own `encode(to:)`.
protocol JSONWritable {
    /// Writes the value, and returns whether it was written: a `nil` may be omitted.
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool
}

extension JSONWritable {
    /// Writes the value at an address, which a generic caller knows by another name of the type.
    static func write(_ value: UnsafeRawPointer, to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        try value.assumingMemoryBound(to: Self.self).pointee.write(to: draft, step)
    }
}

extension FixedWidthInteger {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) -> Bool {
        if let small = Int64(exactly: self) { draft.text.write(small) } else { draft.text.append(description) }
        return true
    }
}

extension Bool {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) -> Bool {
        draft.text.append(self ? "true" : "false")
        return true
    }
}

extension String {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) -> Bool {
        draft.text.write(self)
        return true
    }
}

extension BinaryFloatingPoint where Self: CustomStringConvertible {
    /// Writes the shortest text that is read as the same number.
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        if isFinite {
            draft.text.write(number: self)
        } else if let names = draft.options.floats {
            draft.text.write(isNaN ? names.nan : self < 0 ? names.negativeInfinity : names.positiveInfinity)
        } else {
            throw draft.invalid(self, step)
        }
        return true
    }
}

extension Decimal {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        guard let number = JSONNumber(self) else { throw draft.invalid(self, step) }
        draft.text.append(number.text)
        return true
    }
}

extension JSONNumber {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) -> Bool {
        draft.text.append(text)
        return true
    }
}

extension Date {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        guard let value = try draft.options.dates.value(for: self) else { throw draft.invalid(self, step) }
        return try value.write(to: draft, step)
    }
}

extension Data {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        try draft.options.data.value(for: self).write(to: draft, step)
    }
}

extension URL {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) -> Bool {
        draft.text.write(absoluteString)
        return true
    }
}

extension JSONValue {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        switch self {
        case .object(let members) where draft.arrangesTrees: return try members.write(to: draft, step)
        case .array(let elements) where draft.arrangesTrees: return try elements.write(to: draft, step)
        default:
            draft.text.write(self)
            return true
        }
    }
}

extension JSONObject {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        guard draft.arrangesTrees else { return try JSONValue.object(self).write(to: draft, step) }
        return try draft.value(step) { id in
            draft.open(.object, id)
            for (name, value) in withoutRepetitions {
                try draft.writeMember(named: name) { try value.write(to: draft, $0) }
            }
        }
    }
}

extension Optional: JSONWritable where Wrapped: Encodable {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        guard let value = self else { return draft.writeNil() }
        return try draft.write(value, step)
    }
}

extension Array: JSONWritable where Element: Encodable {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        try draft.value(step) { id in
            draft.open(.array, id)
            for element in self { try draft.writeElement(id, element) { try draft.write(element, $0) } }
        }
    }
}

/// Its elements have another order in another process, and in an equal set.
extension Set: JSONWritable where Element: Encodable {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        try draft.writeSorted(self, step) { try draft.write($0, .none) }
    }
}

/// Its members have another order in another process, and in an equal dictionary.
extension Dictionary: JSONWritable where Key: Encodable, Value: Encodable {
    func write(to draft: JSONDraft, _ step: JSONDraft.Step) throws -> Bool {
        guard Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type else {
            // An array of keys, each followed by its value; a value that is omitted takes its key with it.
            return try draft.writeSorted(self, step) { key, value in
                if try !draft.write(key, .none) { draft.text.append("null") }
                draft.text.append(UInt8(ascii: ","))
                return try draft.write(value, .none)
            }
        }
        let members = map { (name: Self.name($0.key), value: $0.value) }.sortedUnspecialized { $0.name < $1.name }
        return try draft.value(step) { id in
            draft.open(.object, id)
            // The keys of a type, unlike texts and numbers, are converted as keys are.
            let isType = Key.self != String.self && Key.self != Int.self
            for (name, value) in members {
                try draft.writeMember(named: name, isKey: isType) { try draft.write(value, $0) }
            }
        }
    }

    private static func name(_ key: Key) -> String {
        switch key {
        case let key as String: key
        case let key as Int: String(key)
        default: (key as? any CodingKeyRepresentable)?.codingKey.stringValue ?? ""
        }
    }
}
