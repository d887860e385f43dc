/// Measures the maximum depth to which `JSONDecoder` could descend into a body.
///
/// Follows Foundation's scanner through strings, up to the first byte at which that scanner stops. Bytes in doubt are treated
/// as valid, so the depth is never underestimated. A JPEG or a log ends the search at once, and content that is not JSON
/// passes.
struct FoundationTrapGuard {
    /// The bytes, in code units of `width` bytes; in wider units, one byte of each holds the ASCII character.
    private let bytes: UnsafeRawBufferPointer
    private let width: Int
    /// The index of a unit's lowest byte.
    private let low: Int
    /// Whether JSON5 is read, which a decoder may be set to do.
    private let isJSON5: Bool

    /// Whether a decoder could reach more levels than it supports, in JSON or in JSON5.
    static func exceedsLimit(_ bytes: UnsafeRawBufferPointer) -> Bool {
        FoundationTrapGuard(bytes, isJSON5: false).exceedsLimit
            || FoundationTrapGuard(bytes, isJSON5: true).exceedsLimit
    }

    /// Detects the encoding as Foundation's decoder does: by a byte order mark, or else by the positions of zeros.
    private init(_ bytes: UnsafeRawBufferPointer, isJSON5: Bool) {
        self.isJSON5 = isJSON5
        let start = (Self.byte(0, of: bytes), Self.byte(1, of: bytes), Self.byte(2, of: bytes), Self.byte(3, of: bytes))
        let (mark, width, low) =
            switch start {
            case (0xEF, 0xBB, 0xBF, _): (3, 1, 0)
            case (0, 0, 0xFE, 0xFF): (4, 4, 3)
            case (0xFF, 0xFE, 0, 0): (4, 4, 0)
            case (0xFF, 0xFE, _, _): (2, 2, 0)
            case (0xFE, 0xFF, _, _): (2, 2, 1)
            case (0, 0, 0, _): (0, 4, 3)
            case (_, 0, 0, 0): (0, 4, 0)
            case (0, _, 0, _): (0, 2, 1)
            case (_, 0, _, 0): (0, 2, 0)
            default: (0, 1, 0)
            }
        self.bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(mark))
        self.width = width
        self.low = low
    }

    private static func byte(_ index: Int, of bytes: UnsafeRawBufferPointer) -> UInt8 {
        index < bytes.count ? bytes[index] : 1
    }

    private var count: Int { bytes.count / width }

    /// Returns the unit, or 0xFF if it is not ASCII.
    private func unit(_ index: Int) -> UInt8 {
        if width == 1 { return bytes[index] }
        let start = index * width
        for offset in 0..<width where offset != low && bytes[start + offset] != 0 { return 0xFF }
        return bytes[start + low]
    }

    private var exceedsLimit: Bool {
        var depth = 0
        // Whether a value has ended, after which a bracket cannot open.
        var isAfterValue = false
        // Whether the previous unit belongs to a number, a word or a name, which the next one may continue.
        var isInWord = false
        var index = 0
        let count = count
        while index < count {
            let unit = unit(index)
            index += 1
            let continuesWord = isInWord
            isInWord = false
            switch unit {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                guard !isAfterValue else { return false }
                depth += 1
                if depth > JSONDepth.maximum { return true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                // A decoder may be set to read members without braces around them, so zero is not the end.
                depth = max(0, depth - 1)
                isAfterValue = true
            case UInt8(ascii: ","), UInt8(ascii: ":"): isAfterValue = false
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard !isAfterValue, unit == UInt8(ascii: "\"") || isJSON5,
                    let end = endOfString(from: index, quote: unit)
                else {
                    return false
                }
                index = end
                isAfterValue = true
            case UInt8(ascii: "/"):
                guard isJSON5, let end = endOfComment(from: index) else { return false }
                index = end
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "$"), UInt8(ascii: "_"), UInt8(ascii: "\\"):
                guard !isAfterValue || continuesWord else { return false }
                (isAfterValue, isInWord) = (true, true)
            // White space of JSON5, or a letter of an unquoted name.
            case 0x0B, 0x0C, 0x80...:
                guard isJSON5 else { return false }
                isInWord = true
            default: return false
            }
        }
        return false
    }

    /// Returns the index after the closing quotation mark, or `nil` if there is none.
    private func endOfString(from start: Int, quote: UInt8) -> Int? {
        var index = start
        let count = count
        while index < count {
            switch unit(index) {
            case quote: return index + 1
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return nil
    }

    /// Returns the index after a comment whose first slash is before `start`, or `nil` if it has no end.
    private func endOfComment(from start: Int) -> Int? {
        let count = count
        guard start < count else { return nil }
        var index = start + 1
        switch unit(start) {
        case UInt8(ascii: "/"):
            while index < count {
                let unit = unit(index)
                index += 1
                if unit == UInt8(ascii: "\n") || unit == UInt8(ascii: "\r") { return index }
            }
            return nil
        case UInt8(ascii: "*"):
            while index + 1 < count {
                if unit(index) == UInt8(ascii: "*"), unit(index + 1) == UInt8(ascii: "/") { return index + 2 }
                index += 1
            }
            return nil
        default: return nil
        }
    }
}
