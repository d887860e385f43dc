extension String {
    /// This text on one line, with control characters, line separators and bidirectional controls escaped.
    ///
    /// Text from a server or a file is written to logs and errors. A line break in it must not begin a new line of the log, and
    /// an escape sequence must not reach a terminal. A line break becomes `\n`, others `\r`, `\t` or `\u{1B}`.
    package var oneLine: String {
        // Nearly every text is on one line already. Marks of several bytes all begin with C2, D8 or E2.
        let hasMark = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2 }
        }
        guard hasMark != false, unicodeScalars.contains(where: \.breaksLines) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            guard scalar.breaksLines else {
                text.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return text
    }

    /// Returns this text with some ASCII characters replaced.
    ///
    /// By bytes, because a quotation mark and a combining mark after it are one `Character`.
    func escaping(_ replacement: (UInt8) -> String?) -> String {
        guard utf8.contains(where: { replacement($0) != nil }) else { return self }
        var bytes: [UInt8] = []
        for byte in utf8 {
            if let text = replacement(byte) { bytes += Array(text.utf8) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns this text, shortened with an ellipsis if it exceeds the limit; for a server's text in errors and logs.
    package func shortened(to limit: Int = 500) -> String {
        // By scalars, because one character can have any number of marks.
        let scalars = unicodeScalars
        guard utf8.count > limit,
            let end = scalars.index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex
        else { return self }
        return String(scalars[..<end]) + "…"
    }

    /// Whether the text contains nothing visible.
    var isBlank: Bool { unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0.breaksLines } }
}

extension Unicode.Scalar {
    /// Whether it is a control character (C0, DEL, C1), a line or paragraph separator, or a bidirectional control.
    package var breaksLines: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
    /// It as an escape of JSON; those that break lines have four digits.
    var inJSON: String { "\\u" + String(0x10000 + value, radix: 16).dropFirst() }
}
