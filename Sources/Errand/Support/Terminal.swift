internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The terminal behind the standard error.
enum Terminal {
    /// Whether a line can be replaced: the standard error is a terminal, and its type, the value of `TERM`, can do so.
    static var canRedraw: Bool {
        isatty(STDERR_FILENO) == 1 && canRedraw(type: ProcessInfo.processInfo.environment["TERM"])
    }

    /// Whether a terminal of a type can erase a line; one that is unknown or `dumb` cannot.
    static func canRedraw(type: String?) -> Bool { !["", "dumb"].contains(type ?? "") }

    /// The number of columns now, which can change at any time.
    static var columns: Int {
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0
        return columns(reported: isKnown ? Int(size.ws_col) : nil, ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// Returns the number of columns that the system reports, or else that of the environment, or else 80.
    static func columns(reported: Int?, _ variable: String?) -> Int {
        for count in [reported, variable.flatMap(Int.init)] {
            if let count, 1...10_000 ~= count { return count }
        }
        return 80
    }
}

extension String {
    /// The number of columns that the text takes up on a terminal.
    var columnCount: Int { unicodeScalars.reduce(0) { $0 + $1.columnCount } }

    /// Returns the text, cut to a number of columns with an ellipsis.
    func cut(toColumns limit: Int) -> String {
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
