#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The standard error of the process, written to without ever ending it.
///
/// Foundation's `FileHandle.write(_:)` traps on Linux if the descriptor is closed or the disk is full.
enum StandardError {
    /// Writes a text as a whole; if it cannot be written, the rest is dropped.
    ///
    /// Once the descriptor is closed, the next connection may get its number: the text must not go there.
    static func write(_ text: String) {
        guard let file, file == FileIdentity(of: STDERR_FILENO) else { return }
        write(text, to: STDERR_FILENO)
    }

    /// What the standard error was when it was first asked for; `nil` if it was closed.
    private static let file = FileIdentity(of: STDERR_FILENO)

    /// Notes what the standard error is now, before it can be closed.
    static func open() { _ = file }

    private struct FileIdentity: Equatable {
        let device: UInt64
        let number: UInt64

        init?(of descriptor: Int32) {
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { return nil }
            (device, number) = (UInt64(truncatingIfNeeded: facts.st_dev), UInt64(truncatingIfNeeded: facts.st_ino))
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
                // A terminal that another program has made non-blocking; a reader that stays slow loses the rest.
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

    /// Keeps the signal that a pipe without a reader raises from ending the process.
    ///
    /// The signal goes to the thread that writes: it is blocked there, and taken away if the write has raised it.
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
