import Foundation

/// The error if the other end is closed or the server stops: nothing more can be read, written or waited for.
struct ConnectionEnded: Error {}

/// One end of a connection, by its descriptor, which its creator closes.
struct Socket: Sendable {
    let descriptor: Int32

    /// Reads the available bytes, waiting for at least one.
    ///
    /// - Returns: The number of bytes, at least 1, or `nil` at the end of the stream or after a failure.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return count }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    /// Writes all bytes, waiting as long as the other end accepts none.
    func send(_ bytes: UnsafeRawBufferPointer) throws(ConnectionEnded) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = systemSend(descriptor, part.baseAddress, part.count, Socket.sendFlags)
            if count < 0 {
                if errno == EINTR { continue }
                throw ConnectionEnded()
            }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ bytes: [UInt8]) throws(ConnectionEnded) {
        let outcome = bytes.withUnsafeBytes { part in Result { () throws(ConnectionEnded) in try send(part) } }
        try outcome.get()
    }

    /// Waits, but ends with an error as soon as the other end closes or ``shutDown()`` is called.
    ///
    /// - Parameter duration: The duration, rounded up to milliseconds, or `nil` to wait for the end.
    /// - Throws: ``ConnectionEnded`` if the connection ends first.
    func pause(for duration: Duration?) throws(ConnectionEnded) {
        let deadline = duration.map { ContinuousClock.now + $0 }
        while true {
            var milliseconds = Socket.longestPause
            if let deadline {
                let rest = ContinuousClock.now.duration(to: deadline)
                guard rest > .zero else { return }
                milliseconds = Int32(clamping: min(Int64(milliseconds), rest.wholeMillisecondsRoundedUp))
            }
            var watched = pollfd(descriptor, events: Socket.endEvents)
            if poll(&watched, 1, milliseconds) < 0, errno != EINTR { throw ConnectionEnded() }
            if hasEnded(watched.revents) { throw ConnectionEnded() }
        }
    }

    /// Whether the other end has closed, or ``shutDown()`` was called.
    var hasEnded: Bool {
        var watched = pollfd(descriptor, events: Socket.endEvents)
        return poll(&watched, 1, 0) > 0 && hasEnded(watched.revents)
    }

    /// Ends every read, write and pause on this socket, now and later; the descriptor stays valid.
    func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Makes the following close a reset (RST) instead of an orderly end (FIN).
    ///
    /// Waits at most a second until the other end has received what was written: a reset discards what is in transit.
    func armReset() {
        var patience = 1_000
        while unsentByteCount > 0, patience > 0 {
            _ = poll(nil, 0, 1)
            patience -= 1
        }
        var choice = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
    }

    /// Ends the writing side, then reads and drops further bytes, so that the close does not reset the connection and
    /// discard a response.
    ///
    /// - Parameter limit: The maximum duration while the other end stays open.
    func finishWriting(drainingFor limit: Duration) {
        _ = shutdown(descriptor, Int32(SHUT_WR))
        let deadline = ContinuousClock.now + limit
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            while ContinuousClock.now < deadline {
                var watched = pollfd(descriptor, events: Int16(POLLIN))
                guard poll(&watched, 1, 10) > 0 else { continue }
                guard receive(into: buffer) != nil else { return }
            }
        }
    }

    func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        // A rejected option costs speed or an inheritance, never correctness.
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    func closeInChildProcesses() { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
}

extension pollfd {
    init(_ descriptor: Int32, events: Int16) { self.init(fd: descriptor, events: events, revents: 0) }
}

extension Duration {
    /// The duration in milliseconds, rounded up.
    var wholeMillisecondsRoundedUp: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 1_000 else { return .max }
        return seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, bytes, count, flags)
}
