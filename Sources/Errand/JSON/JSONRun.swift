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
        /// The children of large containers, and where the lines begin, for errors.
        var children: [Int: [Int]] = [:]
        var lines: [Int] = []
        /// The place of the text in the body that it is a part of.
        var origin = (line: 0, column: 0, byte: 0)
        /// The last object whose superclass has no member, for which a null is decoded, and that member's key.
        var absent: (object: Int, key: any CodingKey)?
    }

    /// The number of members from which on a look-up out of order uses a table.
    static let tableThreshold = 16

    let options: LosslessJSONDecoder
    /// Whether names are compared as they are written.
    let keepsNames: Bool
    let state: UnsafeMutablePointer<State>
    let index: JSONIndex
    /// The word of the outermost value that is decoded.
    let root: Int
    /// The path of the string whose text is decoded, or nothing.
    let prefix: [any CodingKey]
    let reads: JSONReads?
    /// What precedes the text in the body that it is a part of, for the places in errors; or `nil`.
    let before: Data?

    /// - Parameters:
    ///   - bytes: A validated text, which must exist as long as the run, or until ``keepBytes()``.
    ///   - index: Its index.
    ///   - options: The decoder.
    ///   - root: The word of the outermost value that is decoded, with which paths begin.
    ///   - prefix: The path of the string whose text it is.
    ///   - reads: What is read, or `nil` if nobody asks for it.
    ///   - before: What precedes the text in the body that it is a part of.
    init(
        _ bytes: UnsafeRawBufferPointer,
        _ index: consuming JSONIndex,
        _ options: LosslessJSONDecoder,
        root: Int = 0,
        prefix: [any CodingKey] = [],
        reads: JSONReads? = nil,
        after before: Data? = nil
    ) {
        self.index = index
        self.before = before
        (self.options, self.root, self.prefix, self.reads) = (options, root, prefix, reads)
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
    func bytes(_ word: Int) -> UnsafeRawBufferPointer {
        let start = state.pointee.bytes.baseAddress.map { $0 + index.offset(word) }
        return UnsafeRawBufferPointer(start: start, count: index.length(word))
    }

    var scanner: JSONScanner { JSONScanner(state.pointee.bytes) }

    /// The text of a string.
    @inline(__always)
    func text(_ word: Int) -> String {
        if index.kind(word) == .string { return String(decoding: bytes(word), as: UTF8.self) }
        return scanner.string(in: index.content(word))
    }

    func value(_ word: Int) -> JSONValue {
        let value = index.value(word, in: scanner, name: rawName)
        return options.dropsNulls ? value.withoutNulls : value
    }

    func type(_ word: Int) -> JSONType {
        if index.kind(word) == .null { return .null }
        return JSONType(firstByte: state.pointee.bytes[index.range(word).lowerBound]) ?? .null
    }
}
