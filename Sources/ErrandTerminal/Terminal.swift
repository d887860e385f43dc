internal import Foundation

/// The terminal behind the standard error.
package struct Terminal: Sendable, Equatable {
    /// The numbers of columns and rows, at least 1.
    package var columns = 80
    package var rows = 24

    /// Creates a terminal of a size, of 80 columns and 24 rows by default.
    package init(columns: Int = 80, rows: Int = 24) {
        self.columns = max(1, columns)
        self.rows = max(1, rows)
    }

    /// Creates a terminal of the size that the system reports, or else of `COLUMNS` and `LINES`.
    package init(
        reported: (columns: Int, rows: Int)?,
        environment: [String: String]
    ) {
        func size(_ reported: Int?, _ name: String, _ standard: Int) -> Int {
            for value in [reported, environment[name].flatMap(Int.init)] {
                if let value, 1...10_000 ~= value { return value }
            }
            return standard
        }
        self.init(
            columns: size(reported?.columns, "COLUMNS", 80),
            rows: size(reported?.rows, "LINES", 24)
        )
    }

    /// The terminal as it is now; its size can change at any time.
    package static var current: Terminal {
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0
        return Terminal(
            reported: isKnown ? (Int(size.ws_col), Int(size.ws_row)) : nil,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Whether lines can be redrawn: the standard error is a terminal that can move its cursor.
    package static var canRedraw: Bool {
        isatty(STDERR_FILENO) == 1 && canRedraw(ProcessInfo.processInfo.environment["TERM"])
    }

    /// Whether a terminal of a type, the value of `TERM`, can move its cursor.
    package static func canRedraw(_ type: String?) -> Bool { !["", "dumb"].contains(type ?? "") }
}

extension String {
    /// The number of columns that the text takes up on a terminal.
    package var columnCount: Int { unicodeScalars.reduce(0) { $0 + $1.columnCount } }

    /// Returns the text, cut to a number of columns with an ellipsis.
    package func cut(toColumns limit: Int) -> String {
        guard columnCount > limit else { return self }
        var result = ""
        var count = 1
        for character in self {
            count += String(character).columnCount
            if count > limit { break }
            result.append(character)
        }
        return limit > 0 ? result + "…" : ""
    }

    /// Returns the text, cut or filled with spaces to a number of columns.
    package func padded(toColumns count: Int) -> String {
        let text = cut(toColumns: count)
        return text + String(repeating: " ", count: count - text.columnCount)
    }
}

extension Unicode.Scalar {
    /// The number of columns on a terminal: two for ideographs, kana, Hangul and emoji, and none for marks.
    ///
    /// It is too large for some rare letters, so that a line is cut early rather than wrapped.
    fileprivate var columnCount: Int {
        switch properties.generalCategory {
        // The selector of the emoji style widens what it follows.
        case .nonspacingMark, .enclosingMark: value == 0xFE0F ? 1 : 0
        default: value >= 0x2E80 || 0x1100...0x115F ~= value || properties.isEmojiPresentation ? 2 : 1
        }
    }
}
