/// Compact JSON in memory that grows.
struct JSONText: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity = 256

    init() { start = .allocate(capacity: capacity) }

    deinit { start.deallocate() }

    /// The text, until it is changed.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// The text of a string that was written, by the range between its quotes.
    func string(in range: Range<Int>) -> String { JSONScanner(bytes).string(in: range) }

    /// Drops what was written after the first so many bytes.
    mutating func truncate(to count: Int) { self.count = min(self.count, count) }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        start[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        if capacity &- count < bytes.count { grow(by: bytes.count) }
        UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    /// Writes text as it is.
    @inline(__always)
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    @inline(never)
    private mutating func grow(by added: Int) {
        let larger = max(capacity * 2, count + added)
        let new = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        new.moveInitialize(from: start, count: count)
        start.deallocate()
        (start, capacity) = (new, larger)
    }

    mutating func write(_ integer: Int64) {
        if capacity &- count < 20 { grow(by: 20) }
        var magnitude = integer.magnitude
        if integer < 0 { append(UInt8(ascii: "-")) }
        var (digits, rest) = (1, magnitude)
        while rest >= 10 { (digits, rest) = (digits &+ 1, rest / 10) }
        count &+= digits
        for index in 1...digits {
            start[count &- index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: magnitude % 10)
            magnitude /= 10
        }
    }

    /// Writes a number as Swift prints it, but 1 in place of `1.0`, as Foundation's encoder does.
    mutating func write(number: some CustomStringConvertible) {
        append(number.description)
        if count > 2, start[count &- 1] == UInt8(ascii: "0"), start[count &- 2] == UInt8(ascii: ".") { count &-= 2 }
    }

    mutating func write(_ string: String) {
        var string = string
        string.withUTF8 { write(string: UnsafeRawBufferPointer($0)) }
    }

    /// Writes a string with its quotes; only what must be escaped is.
    mutating func write(string utf8: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        let scanner = JSONScanner(utf8)
        var index = 0
        while index < utf8.count {
            let end = scanner.endOfUnescaped(from: index)
            append(UnsafeRawBufferPointer(rebasing: utf8[index..<end]))
            if end < utf8.count { writeEscaped(utf8[end]) }
            index = end &+ 1
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func writeEscaped(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\n"): append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): append(UInt8(ascii: "t"))
        case 0x00..<0x20:
            append("u00")
            append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
            append((byte & 0x0F < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) + byte & 0x0F)
        default: append(byte)
        }
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let value): append(value.text)
        case .string(let value): write(value)
        case .array(let elements):
            append(UInt8(ascii: "["))
            for (offset, element) in elements.enumerated() {
                if offset > 0 { append(UInt8(ascii: ",")) }
                write(element)
            }
            append(UInt8(ascii: "]"))
        case .object(let members):
            append(UInt8(ascii: "{"))
            for (offset, member) in members.enumerated() {
                if offset > 0 { append(UInt8(ascii: ",")) }
                write(member.name)
                append(UInt8(ascii: ":"))
                write(member.value)
            }
            append(UInt8(ascii: "}"))
        }
    }
}
