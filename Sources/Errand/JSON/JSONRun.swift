internal import Foundation

/// The decoding of one text: its bytes, its index, and what has been looked up so far.
///
/// Decoders and containers that the caller keeps are of use after it, too: the bytes are copied then.
final class JSONRun {
    /// What changes, behind a pointer, because each access to a variable of a class is checked for exclusivity.
    struct State {
        var bytes: UnsafeRawBufferPointer
        /// The bytes, if they are the run's own.
        var copy: UnsafeMutableRawBufferPointer?
        /// Names that are compared in another form than in the text: unescaped, or converted by the strategy for keys.
        var names: [(name: JSONKeyName, raw: String)] = []
        var nameNumbers: [JSONExactName: Int] = [:]
        /// The members of large objects, by the first words of the objects.
        var tables: [Int: [JSONKeyName: Int]] = [:]
        /// The way to the value of the last error.
        var steps: [Step] = []
        /// Its line: the number, where it begins, and how far it has been read.
        var line = (end: 0, number: 1, start: 0)
        /// The last object whose superclass has no member, for which a null is decoded, and that member's key.
        var absent: (object: Int, key: any CodingKey)?
    }

    /// The number of members from which on a look-up out of order uses a table.
    static let tableThreshold = 16

    let options: LosslessJSONDecoder
    /// Whether names are compared as they are written.
    let keepsNames: Bool
    let state: UnsafeMutablePointer<State>
    let words: UnsafeMutablePointer<UInt64>
    let index: JSONIndex
    /// The path of the string whose text is decoded, or nothing.
    let prefix: [any CodingKey]

    /// Validates a text, which must exist as long as the run, or until ``keepBytes()``.
    init(
        _ bytes: UnsafeRawBufferPointer,
        _ options: LosslessJSONDecoder,
        maximumDepth: Int = JSONDepth.standard,
        prefix: [any CodingKey] = []
    ) throws(JSONError) {
        index = try JSONIndex(bytes, maximumDepth: maximumDepth)
        words = index.words
        (self.options, self.prefix) = (options, prefix)
        keepsNames = options.keys.isTrivial
        state = .allocate(capacity: 1)
        state.initialize(to: State(bytes: bytes))
    }

    deinit {
        for (name, _) in state.pointee.names { name.bytes.deallocate() }
        state.pointee.copy?.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Copies the bytes, for decoders that exist longer than they do.
    func keepBytes() {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: state.pointee.bytes.count, alignment: 1)
        copy.copyMemory(from: state.pointee.bytes)
        (state.pointee.copy, state.pointee.bytes) = (copy, UnsafeRawBufferPointer(copy))
        // Their names are in the bytes.
        state.pointee.tables = [:]
    }
}

/// Words of the index.
extension JSONRun {
    @inline(__always)
    func kind(_ word: Int) -> JSONIndex.Kind { JSONIndex.Kind(words[word]) }

    @inline(__always)
    func offset(_ word: Int) -> Int { Int(truncatingIfNeeded: words[word] &>> 3 & 0xFFFF_FFFF) }

    @inline(__always)
    func length(_ word: Int) -> Int { Int(truncatingIfNeeded: words[word] &>> 35) }

    /// The number of elements or members of a container.
    @inline(__always)
    func count(_ container: Int) -> Int { Int(truncatingIfNeeded: words[container &+ 1] & 0xFFFF_FFFF) }

    /// The word after all of a container.
    @inline(__always)
    func end(_ container: Int) -> Int { Int(truncatingIfNeeded: words[container &+ 1] &>> 32) }

    /// The word after a value.
    @inline(__always)
    func after(_ word: Int) -> Int { words[word] & 7 >= 6 ? end(word) : word &+ 1 }

    @inline(__always)
    func bytes(_ word: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: state.pointee.bytes.baseAddress.map { $0 + offset(word) }, count: length(word))
    }

    var scanner: JSONScanner { JSONScanner(state.pointee.bytes) }

    /// The text of a string.
    @inline(__always)
    func text(_ word: Int) -> String {
        if kind(word) == .string { return String(decoding: bytes(word), as: UTF8.self) }
        return scanner.string(in: offset(word)..<offset(word) + length(word))
    }

    func value(_ word: Int) -> JSONValue {
        let value: JSONValue
        switch kind(word) {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number: return .number(JSONNumber(validated: String(decoding: bytes(word), as: UTF8.self)))
        case .string, .escapedString: return .string(text(word))
        case .array, .object:
            value = JSONValue(validated: scanner.range(ofValueAt: offset(word)), in: state.pointee.bytes)
        }
        return options.dropsNulls ? value.withoutNulls : value
    }

    func type(_ word: Int) -> JSONType {
        switch kind(word) {
        case .null: .null
        case .true, .false: .bool
        case .number: .number
        case .string, .escapedString: .string
        case .array: .array
        case .object: .object
        }
    }
}
