internal import Foundation

/// Writes text to the standard error, or another descriptor, whose reader may be slow, hang, or be gone.
///
/// A queue of its own writes, in order. A caller waits a moment for its text, and not at all while an older one waits; while too
/// much waits, further texts are dropped.
/// Foundation's `FileHandle.write(_:)` would end the process on Linux if the descriptor is closed or the disk is full.
package final class StandardError: Sendable {
    /// The maximum time that a caller waits, so that its text is written before the program crashes or prints something.
    private static let patience = DispatchTimeInterval.milliseconds(10)

    private let descriptor: Int32
    private let limit: Int
    private let isUsable: @Sendable () -> Bool
    /// The number of bytes that wait, with those that are being written.
    private let byteCount = Lock(0)
    private let queue = DispatchQueue(label: "errand.standard-error")

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor to write to.
    ///   - limit: The number of bytes that may wait; a text that exceeds it is not written at all.
    ///   - isUsable: Returns whether the descriptor may be written to; called before each write.
    init(to descriptor: Int32, limit: Int = 1 << 20, if isUsable: @escaping @Sendable () -> Bool = { true }) {
        (self.descriptor, self.limit, self.isUsable) = (descriptor, limit, isUsable)
    }

    /// Writes a text now or later; a text that cannot be written is dropped.
    func write(_ text: String) {
        let bytes = Array(text.utf8)
        let waiting = byteCount.withLock { count -> Int? in
            guard count + bytes.count <= limit else { return nil }
            defer { count += bytes.count }
            return count
        }
        guard let waiting else { return }
        let work = DispatchWorkItem { [self] in
            #if !canImport(Darwin)
            // A pipe without a reader raises a signal in the thread that writes, which must not end the process.
            var pipe = sigset_t()
            sigemptyset(&pipe)
            sigaddset(&pipe, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &pipe, nil)
            #endif
            var rest = bytes[...]
            while !rest.isEmpty, let count = writePiece(of: rest) { rest = rest.dropFirst(count) }
            byteCount.withLock { $0 -= bytes.count }
        }
        queue.async(execute: work)
        if waiting == 0 { _ = work.wait(timeout: .now() + Self.patience) }
    }

    /// Waits until everything is written, at most for a time.
    func finish(limit: Duration = .seconds(1)) {
        let began = Moment.now
        while byteCount.withLock({ $0 > 0 }), Moment.now - began < limit { usleep(1000) }
    }

    /// Writes the first bytes, as many as a pipe that is ready accepts; returns their number, or `nil` if the descriptor fails or
    /// must not be used any more.
    private func writePiece(of bytes: ArraySlice<UInt8>) -> Int? {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            guard isUsable() else { return nil }
            #if canImport(Darwin)
            // Darwin delivers the signal to any thread that does not block it, unless the descriptor has this flag.
            _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
            #endif
            let count = bytes.prefix(Int(PIPE_BUF)).withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { return count }
            guard count < 0, errno == EINTR || errno == EAGAIN else { return nil }
            // Other code has made it non-blocking.
            if errno == EAGAIN { poll(&request, 1, -1) }
        }
    }
}

extension StandardError {
    private static let output: StandardError = {
        // The texts that wait for a slow reader when the process ends.
        atexit { StandardError.output.finish() }
        return StandardError(to: STDERR_FILENO) { isUsable }
    }()

    /// Writes a text to the standard error of the process; a text that cannot be written is dropped.
    ///
    /// Once the descriptor is closed, the next connection or file may get its number; the text is not written there.
    package static func write(_ text: String) { output.write(text) }

    /// The file of the standard error at the first access, or `nil` if it was closed.
    private static let first = file()

    /// Records the file of the standard error, before it can be closed.
    package static func open() { _ = first }

    private static func file() -> stat? {
        var facts = stat()
        return fstat(STDERR_FILENO, &facts) == 0 ? facts : nil
    }

    /// Whether the standard error is the first one, or has been moved to a terminal or to a file that is appended to: a pipe or
    /// socket may lead to a child process or a server, and another file has content of another kind.
    private static var isUsable: Bool {
        guard let now = file() else { return false }
        if let first, (first.st_dev, first.st_ino) == (now.st_dev, now.st_ino) { return true }
        let kind = now.st_mode & S_IFMT
        return kind == S_IFCHR || kind == S_IFREG && fcntl(STDERR_FILENO, F_GETFL) & O_APPEND != 0
    }
}

/// The function of the system, which the methods of the same name hide.
private func writeBytes(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, start, count)
}
