#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The standard error of the process, written to without ending the process.
///
/// Foundation's `FileHandle.write(_:)` traps on Linux if the descriptor is closed or the disk is full.
enum StandardError {
    /// Writes a text; if it cannot be written completely, the rest is dropped.
    ///
    /// Once the descriptor is closed, the next connection or file may get its number; the text is not written there.
    static func write(_ text: String) {
        guard let now = Target(descriptor: STDERR_FILENO), now.isSame(as: first) || now.isLog else { return }
        write(text, to: STDERR_FILENO)
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

        /// Whether it can be a program's standard error: a terminal, a pipe, or a file that is appended to, but no socket,
        /// and no file with content of another kind.
        var isLog: Bool {
            switch facts.st_mode & S_IFMT {
            case S_IFCHR, S_IFIFO: true
            case S_IFREG: isAppended
            default: false
            }
        }
    }

    static func write(_ text: String, to descriptor: Int32) {
        withoutPipeSignal {
            var text = text
            return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
        }
    }

    /// Returns the error number of a failed write, or 0.
    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        var canWait = true
        while !rest.isEmpty {
            let slice = UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Glibc)
            let count = Glibc.write(descriptor, slice.baseAddress, slice.count)
            #elseif canImport(Musl)
            let count = Musl.write(descriptor, slice.baseAddress, slice.count)
            #else
            let count = Darwin.write(descriptor, slice.baseAddress, slice.count)
            #endif
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN, canWait {
                // A terminal that another program has made non-blocking: a slow reader loses the rest.
                canWait = false
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Self.poll(&poll)
            } else {
                return count < 0 ? errno : EIO
            }
        }
        return 0
    }

    private static func poll(_ descriptor: inout pollfd) -> Int32 {
        #if canImport(Glibc)
        Glibc.poll(&descriptor, 1, 100)
        #elseif canImport(Musl)
        Musl.poll(&descriptor, 1, 100)
        #else
        Darwin.poll(&descriptor, 1, 100)
        #endif
    }

    /// Prevents the signal that a pipe without a reader raises from ending the process.
    ///
    /// The signal goes to the writing thread: it is blocked there, and consumed if the write has raised it.
    private static func withoutPipeSignal(_ write: () -> Int32) {
        var pipe = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        sigemptyset(&pending)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        guard pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 else { return }
        if write() == EPIPE, !wasPending {
            sigemptyset(&pending)
            sigpending(&pending)
            var signal: Int32 = 0
            // A process that ignores the signal has none pending, and would wait forever.
            if sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipe, &signal) }
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
