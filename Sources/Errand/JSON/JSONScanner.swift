/// Reads JSON in place: validates it, and finds members and elements, without building anything.
///
/// The bytes are UTF-8 (RFC 8259, section 8.1). Nothing here calls itself for nested values, and no input makes it
/// trap: every index is compared with ``end`` before it is used. Offsets are those of ``bytes``.
///
/// Not public; `package` is what the benchmarks measure.
package struct JSONScanner {
    /// The depth allowed when nobody says otherwise.
    package static let defaultMaximumDepth = 128

    /// The depth nobody can exceed: from 513 levels on Foundation's decoder can be made to trap.
    static let hardMaximumDepth = 512

    let bytes: UnsafeRawBufferPointer

    /// One past the last byte that may be read.
    let end: Int

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        end = bytes.count
    }

    /// Looks only at the bytes of `range`, while offsets stay those of the whole.
    init(_ bytes: UnsafeRawBufferPointer, endingAt end: Int) {
        self.bytes = bytes
        self.end = min(max(end, 0), bytes.count)
    }

    /// The limit in force: between 1 and ``hardMaximumDepth``.
    static func clampedDepth(_ depth: Int) -> Int { min(max(depth, 1), hardMaximumDepth) }

    /// Checks that `bytes` are exactly one JSON value, with white space around it at most.
    ///
    /// - Parameters:
    ///   - bytes: The text, as UTF-8.
    ///   - maximumDepth: How deep arrays and objects may nest, from 1 to 512; other numbers are moved there.
    /// - Returns: The range of the value without the white space around it.
    /// - Throws: What is wrong with the text, and where.
    @discardableResult
    package static func validate(
        _ bytes: UnsafeRawBufferPointer,
        maximumDepth: Int = defaultMaximumDepth
    ) throws(JSONError) -> Range<Int> {
        let scanner = JSONScanner(bytes)
        let start = try scanner.start()
        let valueEnd = try scanner.validateValue(at: start, depth: 0, limit: clampedDepth(maximumDepth))
        try scanner.finish(at: valueEnd)
        return start..<valueEnd
    }

    /// The offset of the first byte of the value; a byte order mark is refused here.
    func start() throws(JSONError) -> Int {
        let start = skipWhitespace(from: 0)
        // FE and FF begin the marks of UTF-16, EF the one of UTF-8; none begins a value.
        if start < end, bytes[start] >= 0x80 { throw JSONError(.invalidUTF8, offset: start) }
        return start
    }

    /// Checks that only white space is left.
    func finish(at index: Int) throws(JSONError) {
        let rest = skipWhitespace(from: index)
        if rest < end { throw JSONError(.trailingText, offset: rest) }
    }

    /// The byte at `index`, or 0, which no grammar rule accepts, when the text ends before it.
    @inline(__always)
    func byte(at index: Int) -> UInt8 { index < end ? bytes[index] : 0 }

    /// Eight bytes with the first one lowest; the caller has checked `index + 8 <= end`.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Four bytes with the first one lowest; the caller has checked `index + 4 <= end`.
    @inline(__always)
    func halfWord(at index: Int) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
    }

    /// The offset of the next byte that is not white space, or ``end``.
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

    /// The error for a byte that may not stand at `index`, kept out of the fast path.
    @inline(never)
    func failure(expecting what: StaticString, at index: Int) -> JSONError {
        guard index < end else { return JSONError(.unexpectedEnd, offset: end) }
        if bytes[index] >= 0x80 { return JSONError(.invalidUTF8, offset: index) }
        return JSONError(.syntax(expected: what.description), offset: index)
    }

    @inline(never)
    func failure(_ reason: JSONError.Reason, at index: Int) -> JSONError { JSONError(reason, offset: index) }
}
