internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Writes lines to a descriptor whose reader may be slow, or hang, without blocking its callers.
///
/// A caller writes what the descriptor accepts at once. The rest waits for a thread of its own, in order; while too much waits,
/// further lines are dropped.
final class LineOutput: Sendable {
    private struct State {
        /// Whether a caller or the thread is writing; others only add lines.
        var isBusy = false
        var waiting: [ArraySlice<UInt8>] = []
        /// The number of bytes that wait, with the line that the thread is writing.
        var byteCount = 0
        /// The number of writes of the thread.
        var writeCount = 0
    }

    /// The number of bytes that may wait by default: 1 MiB.
    static let standardLimit = 1 << 20

    /// The maximum size of one write: a pipe that is ready for writing accepts as much without waiting.
    private static let pieceSize = Int(PIPE_BUF)

    /// The maximum time that a caller waits for a terminal, so that its text precedes what the program prints next.
    private static let terminalPatience = DispatchTimeInterval.milliseconds(20)

    private let descriptor: Int32
    private let limit: Int
    private let isUsable: @Sendable () -> Bool
    private let state = Lock(State())

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor to write to.
    ///   - limit: The number of bytes that may wait; of the line that exceeds it, nothing is written.
    ///   - isUsable: Returns whether the descriptor may be written to; called before each write.
    init(
        to descriptor: Int32,
        limit: Int = LineOutput.standardLimit,
        if isUsable: @escaping @Sendable () -> Bool = { true }
    ) {
        self.descriptor = descriptor
        self.limit = limit
        self.isUsable = isUsable
    }

    /// Writes a text now or later; what cannot be written is dropped.
    func write(_ text: String) {
        let line = Array(text.utf8)[...]
        let isFirst = state.withLock { state in
            if !state.isBusy {
                state.isBusy = true
                return true
            }
            if state.byteCount + line.count <= limit {
                state.waiting.append(line)
                state.byteCount += line.count
            }
            return false
        }
        guard isFirst else { return }
        let isTerminal = isatty(descriptor) == 1
        // A terminal that is ready for writing may wait all the same.
        let rest = isTerminal ? line : writeAtOnce(line)
        let hasMore = state.withLock { state in
            if !rest.isEmpty {
                state.waiting.insert(rest, at: 0)
                state.byteCount += rest.count
            }
            state.isBusy = !state.waiting.isEmpty
            return state.isBusy
        }
        guard hasMore else { return }
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            writeWaiting()
            end.signal()
        }
        if isTerminal { _ = end.wait(timeout: .now() + Self.terminalPatience) }
    }

    /// Waits until everything is written, nothing could be written for a time, or a longer time is over.
    func finish(patience: Duration = .milliseconds(500), limit: Duration = .seconds(2)) {
        let began = Moment.now
        var (writeCount, since) = (0, began)
        while true {
            let (isBusy, count) = state.withLock { ($0.isBusy, $0.writeCount) }
            if count != writeCount { (writeCount, since) = (count, .now) }
            guard isBusy, Moment.now - since < patience, Moment.now - began < limit else { return }
            usleep(1000)
        }
    }

    /// Writes what the descriptor accepts without waiting, and returns the rest.
    private func writeAtOnce(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = line
        while !rest.isEmpty, isReady(within: 0) {
            guard let count = writePiece(of: rest) else { return [] }
            if count == 0 { break }
            rest = rest.dropFirst(count)
        }
        return rest
    }

    /// Writes what waits; on the thread.
    private func writeWaiting() {
        while let lines = nextLines() {
            for line in lines {
                var rest = line
                while !rest.isEmpty, let count = writePiece(of: rest) {
                    rest = rest.dropFirst(count)
                    if count > 0 {
                        state.withLock { $0.writeCount += 1 }
                    } else {
                        // Something else has made it non-blocking.
                        _ = isReady(within: -1)
                    }
                }
                state.withLock { $0.byteCount -= line.count }
            }
        }
    }

    private func nextLines() -> [ArraySlice<UInt8>]? {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isBusy = !state.waiting.isEmpty
            return state.isBusy ? state.waiting : nil
        }
    }

    /// Writes the first bytes; returns their number, 0 if a non-blocking descriptor accepts none, or `nil` if it fails or must
    /// not be used any more.
    private func writePiece(of bytes: ArraySlice<UInt8>) -> Int? {
        guard isUsable() else { return nil }
        let result = bytes.prefix(Self.pieceSize).withUnsafeBytes { piece in
            Self.withoutPipeSignal {
                while true {
                    #if canImport(Glibc)
                    let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
                    #elseif canImport(Musl)
                    let count = Musl.write(descriptor, piece.baseAddress, piece.count)
                    #else
                    let count = Darwin.write(descriptor, piece.baseAddress, piece.count)
                    #endif
                    if count > 0 { return count }
                    let error = count < 0 ? errno : EIO
                    if error != EINTR { return error == EAGAIN ? 0 : -Int(error) }
                }
            }
        }
        return result < 0 ? nil : result
    }

    /// Whether a write does not wait, or fails; waits for that for a number of milliseconds, or, if it is negative, for ever.
    private func isReady(within milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// Prevents the signal that a pipe without a reader raises from ending the process.
    ///
    /// The signal goes to the writing thread: it is blocked there, and consumed if the write has raised it.
    ///
    /// - Parameter write: Returns the number of bytes, or the error number, negated.
    /// - Returns: The result of `write`.
    private static func withoutPipeSignal(_ write: () -> Int) -> Int {
        var pipe = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        sigemptyset(&pending)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        guard pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 else { return -Int(EIO) }
        let result = write()
        if result == -Int(EPIPE), !wasPending {
            sigemptyset(&pending)
            sigpending(&pending)
            var signal: Int32 = 0
            // A process that ignores the signal has none pending, and would wait forever.
            if sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipe, &signal) }
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return result
    }
}
