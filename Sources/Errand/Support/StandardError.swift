#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The standard error of the process, written to without ending the process, and without blocking the caller.
///
/// Foundation's `FileHandle.write(_:)` traps on Linux if the descriptor is closed or the disk is full. A pipe whose reader hangs
/// would block the threads that all sends share.
enum StandardError {
    /// Writes a text; what cannot be written is dropped.
    ///
    /// Once the descriptor is closed, the next connection or file may get its number; the text is not written there.
    static func write(_ text: String) { output.write(text) }

    private static let output: LineOutput = {
        // What waits for a slow reader when the process ends.
        atexit { StandardError.output.finish() }
        return LineOutput(to: STDERR_FILENO) { isUsable }
    }()

    private static var isUsable: Bool {
        guard let now = Target(descriptor: STDERR_FILENO) else { return false }
        return now.isSame(as: first) || now.isLog
    }

    /// The target of standard error at the first access, or `nil` if it was closed.
    private static let first = Target(descriptor: STDERR_FILENO)

    /// Records the target of standard error, before it can be closed.
    static func open() { _ = first }

    /// The file that a descriptor refers to.
    private struct Target {
        private let facts: stat
        private let isAppended: Bool

        init?(descriptor: Int32) {
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { return nil }
            self.facts = facts
            let flags = fcntl(descriptor, F_GETFL)
            isAppended = flags >= 0 && flags & O_APPEND != 0
        }

        func isSame(as other: Target?) -> Bool {
            facts.st_dev == other?.facts.st_dev && facts.st_ino == other?.facts.st_ino
        }

        /// Whether it can be a program's standard error, moved while it runs: a terminal, or a file that is appended to.
        ///
        /// A pipe or socket may lead to a child process or a server, and another file has content of another kind.
        var isLog: Bool {
            switch facts.st_mode & S_IFMT {
            case S_IFCHR: true
            case S_IFREG: isAppended
            default: false
            }
        }
    }
}
