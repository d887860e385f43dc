/// Reads JSON in place: validates it, and finds members and elements without building anything.
///
/// The bytes are UTF-8 (RFC 8259, section 8.1). Nested values need no recursion, and no input causes a trap: every
/// index is compared with ``end`` before it is used. Offsets are relative to ``bytes``.
///
/// It is not public; `package` gives the benchmarks access.
package struct JSONScanner {
    let bytes: UnsafeRawBufferPointer

    /// The offset after the last byte that may be read.
    let end: Int

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        end = bytes.count
    }

    /// Creates a scanner that reads `bytes` up to `end`, with offsets relative to all of them.
    init(_ bytes: UnsafeRawBufferPointer, endingAt end: Int) {
        self.bytes = bytes
        self.end = min(max(end, 0), bytes.count)
    }

    /// Validates that `bytes` are exactly one JSON value, with optional white space around it.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects, from 1 to 512; other numbers are clamped.
    /// - Returns: The range of the value without the white space around it.
    /// - Throws: The error and its offset.
    @discardableResult
    package static func validate(
        _ bytes: UnsafeRawBufferPointer,
        maximumDepth: Int = JSONDepth.standard
    ) throws(JSONError) -> Range<Int> {
        try JSONIndex(bytes, maximumDepth: maximumDepth).range(0)
    }

    /// Returns the offset of the value's first byte; a byte order mark, which is none, is rejected here.
    func start() throws(JSONError) -> Int {
        let start = skipWhitespace(from: 0)
        // FE, FF and EF begin the byte order marks of UTF-16 and UTF-8; none of them begins a value.
        if start < end, bytes[start] >= 0x80 { throw JSONError(.invalidUTF8, offset: start) }
        return start
    }

    /// Validates that only white space remains.
    func finish(at index: Int) throws(JSONError) {
        let rest = skipWhitespace(from: index)
        if rest < end { throw JSONError(.trailingText, offset: rest) }
    }

    /// Returns the byte at `index`, or 0, which no grammar rule accepts, if the text ends before it.
    @inline(__always)
    func byte(at index: Int) -> UInt8 { index < end ? bytes[index] : 0 }

    /// Returns eight bytes with the first one lowest; the caller has checked `index + 8 <= end`.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Returns four bytes with the first one lowest; the caller has checked `index + 4 <= end`.
    @inline(__always)
    func halfWord(at index: Int) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
    }

    /// Returns the offset of the next byte that is not white space, or ``end``.
    @inline(__always)
    func skipWhitespace(from start: Int) -> Int {
        guard start < end, bytes[start] <= 0x20 else { return start }
        return skipWhitespaceRun(from: start)
    }

    @inline(never)
    private func skipWhitespaceRun(from start: Int) -> Int {
        var index = start
        while index < end {
            // Indented text has long runs of spaces.
            if end - index >= 8, word(at: index) == 0x2020_2020_2020_2020 {
                index += 8
                continue
            }
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return index
            }
        }
        return index
    }

    /// Returns the error for an invalid byte at `index`; not inlined, to keep it out of the fast path.
    @inline(never)
    func failure(expecting what: StaticString, at index: Int) -> JSONError {
        guard index < end else { return JSONError(.unexpectedEnd, offset: end) }
        if bytes[index] >= 0x80 { return JSONError(.invalidUTF8, offset: index) }
        return JSONError(.syntax(expected: what.description), offset: index)
    }

    @inline(never)
    func failure(_ reason: JSONError.Reason, at index: Int) -> JSONError { JSONError(reason, offset: index) }
}
