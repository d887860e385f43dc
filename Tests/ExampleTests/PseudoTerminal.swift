import Foundation

/// A terminal for a program, and what it shows.
final class PseudoTerminal: Sendable {
    private let screen: TerminalScreen
    private let master: Int32
    /// The side of the program.
    let output: FileHandle

    init(columns: Int, rows: Int) throws {
        screen = TerminalScreen(columns: columns, rows: rows)
        let name: String
        (master, name) = try Self.open()
        let slave = Foundation.open(name, O_RDWR | O_NOCTTY)
        guard slave >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ENXIO) }
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(slave, UInt(TIOCSWINSZ), &size) == 0 else { throw POSIXError(.ENOTTY) }
        output = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    }

    deinit { close(master) }

    /// Opens a new terminal.
    ///
    /// - Returns: The descriptor of the side that shows it, and the path of the other one.
    private static func open() throws -> (descriptor: Int32, path: String) {
        #if os(Linux)
        // The functions of POSIX cannot be imported there; they do this.
        let (unlock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
        let master = Foundation.open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (lock, number) = (Int32(0), Int32(0))
        guard master >= 0, ioctl(master, unlock, &lock) == 0, ioctl(master, getNumber, &number) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ENXIO)
        }
        return (master, "/dev/pts/\(number)")
        #else
        let master = posix_openpt(O_RDWR | O_NOCTTY)
        var name = [CChar](repeating: 0, count: 128)
        guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, ptsname_r(master, &name, name.count) == 0
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ENXIO) }
        return (master, String(cString: name))
        #endif
    }

    /// Runs a program whose outputs are the terminal.
    ///
    /// - Returns: The status, and the screen afterward.
    func run(_ program: URL, _ words: [String], type: String = "xterm") async throws -> (Int32, TerminalScreen) {
        async let text = read()
        let variables = ["TERM": type, "COLUMNS": "", "LINES": ""]
        let status = try await ExampleTests.run(program, words, to: output, environment: variables)
        var screen = screen
        screen.show(await text)
        return (status, screen)
    }

    /// Reads on a thread of its own until the program has closed the terminal.
    private func read() async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [master] in
                var all: [UInt8] = []
                var bytes = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = Foundation.read(master, &bytes, bytes.count)
                    guard count > 0 else { break }
                    all += bytes[..<count]
                }
                continuation.resume(returning: String(decoding: all, as: UTF8.self))
            }
        }
    }
}

/// The screen of a terminal after a text with the few control sequences that progress needs, all characters of one column.
struct TerminalScreen: Sendable {
    let columns: Int
    let rows: Int
    /// Every line from the first, also those that have left the screen.
    private(set) var lines = [""]
    /// Whether any control sequence was received.
    private(set) var hasControls = false
    private var row = 0
    private var column = 0

    init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    mutating func show(_ text: String) {
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": moveDown()
            case "\u{1B}":
                hasControls = true
                let sequence = rest.prefix { !$0.properties.isAlphabetic }
                rest = rest.dropFirst(sequence.count)
                let count = Int(String(String.UnicodeScalarView(sequence.dropFirst()))) ?? 1
                control(rest.popFirst() ?? " ", count)
            default:
                if column == columns {
                    column = 0
                    moveDown()
                }
                let line = Array(lines[row].unicodeScalars)
                let start = line.prefix(column) + Array(repeating: " ", count: max(0, column - line.count))
                lines[row] = String(String.UnicodeScalarView(start + [scalar] + line.dropFirst(column + 1)))
                column += 1
            }
        }
    }

    private mutating func control(_ letter: Unicode.Scalar, _ count: Int) {
        switch letter {
        // Lines that have left the screen are out of reach.
        case "A": row = max(max(0, lines.count - rows), row - count)
        case "K": lines[row] = String(lines[row].prefix(column))
        case "J":
            lines[row] = String(lines[row].prefix(column))
            for below in lines.indices where below > row { lines[below] = "" }
        default: break
        }
    }

    private mutating func moveDown() {
        row += 1
        if row == lines.count { lines.append("") }
    }

    /// The lines that are not empty.
    var text: [String] { lines.filter { !$0.isEmpty } }
}
