import Dispatch
public import Errand
public import Foundation

/// A body that the test sends, piece by piece, to the clients that read it.
///
/// A client receives what no client has received before, and what follows, up to a ``close(_:)``. So what is sent while no client
/// reads is kept for the next one, and what follows a close is for the connections after it, as for a client that reconnects.
/// A server sends at once what it has to a client that is connected, even if that reads only a part.
///
/// ```swift
/// let stream = server.stream("/events")
/// stream.send(ServerSentEvent(data: "1", id: "a"))
/// stream.close(.reset)
/// ```
public final class MockStream: Sendable {
    /// How a body ends.
    @frozen
    public enum Ending: Sendable, Hashable {
        /// The body is complete.
        case complete
        /// The connection is closed before the body is complete.
        case cut
        /// The connection is reset.
        case reset
    }

    enum Piece: Sendable {
        case bytes(Data)
        case end(Ending)
    }

    private struct State {
        var pieces: [Piece] = []
        /// The number of pieces that a client has received.
        var receivedCount = 0
        /// The clients by their numbers.
        var readers: [Int: Reader] = [:]
        var count = 0
        var waiters = CountWaiters()

        /// Returns the next piece for a client, or `nil` if there is none yet; the end is returned again.
        mutating func take(_ id: Int) -> Piece? {
            guard let position = readers[id]?.position, position < pieces.count else { return nil }
            receivedCount = max(receivedCount, position + 1)
            if case .bytes = pieces[position] { readers[id]?.position += 1 }
            return pieces[position]
        }
    }

    private struct Reader {
        var position: Int
        let signal: DispatchSemaphore
        var waiter: CheckedContinuation<Piece?, Never>?
    }

    private let state = Lock(State())

    /// Creates a stream for a ``MockResponse``.
    public init() {}

    /// Sends bytes, which a client receives as a chunk of their own if it reads fast enough.
    public func send(_ bytes: Data) { send(.bytes(bytes)) }

    /// Sends text in UTF-8, such as a line with its end.
    public func send(_ text: String) { send(Data(text.utf8)) }

    /// Sends an event; an empty ID and the type `message` are omitted.
    public func send(_ event: ServerSentEvent) {
        var lines = event.event == "message" ? [] : ["event: \(event.event)"]
        if !event.id.isEmpty { lines.append("id: \(event.id)") }
        if let retry = event.retry { lines.append("retry: \(retry.wholeMillisecondsRoundedUp)") }
        // "\r\n" is one character.
        let ends: [Character] = ["\n", "\r", "\r\n"]
        lines += event.data.split(omittingEmptySubsequences: false, whereSeparator: ends.contains).map { "data: \($0)" }
        send(lines.joined(separator: "\n") + "\n\n")
    }

    /// Ends the body for the clients that read it, or for the next one.
    public func close(_ ending: Ending = .complete) { send(.end(ending)) }

    /// The number of clients that have begun to read the body.
    public var connectionCount: Int { state.withLock { $0.count } }

    /// Waits until ``connectionCount`` is at least `count`, as ``MockServer/waitForRequests(_:within:file:line:)`` does.
    @discardableResult
    public func waitForConnections(
        _ count: Int = 1,
        within limit: Duration = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> Bool {
        let wait = CountWait(function: "waitForConnections", count: count, limit: limit, file: file, line: line)
        return await state.wait(
            for: wait,
            reached: { $0.count >= count },
            \.waiters,
            seen: { "\($0.count) connections" }
        )
    }

    private func send(_ piece: Piece) {
        let waiting = state.withLock { state in
            state.pieces.append(piece)
            var waiting: [(CheckedContinuation<Piece?, Never>, Piece?)] = []
            for (id, reader) in state.readers {
                reader.signal.signal()
                guard let waiter = reader.waiter else { continue }
                state.readers[id]?.waiter = nil
                waiting.append((waiter, state.take(id)))
            }
            return waiting
        }
        for (waiter, piece) in waiting { waiter.resume(returning: piece) }
    }

    /// Connects a client, until it is cancelled or deallocated.
    func connect() -> MockStreamReader {
        let signal = DispatchSemaphore(value: 0)
        let (id, waiters) = state.withLock { state in
            state.count += 1
            state.readers[state.count] = Reader(position: state.receivedCount, signal: signal)
            return (state.count, state.waiters.removeReached(state.count))
        }
        for waiter in waiters { waiter.resume(returning: true) }
        return MockStreamReader(self, id, signal)
    }

    fileprivate func take(_ id: Int) -> Piece? { state.withLock { $0.take(id) } }

    /// Returns the next piece for a client, or `nil` if it has left.
    fileprivate func next(_ id: Int) async -> Piece? {
        await withCheckedContinuation { continuation in
            let (isOver, piece) = state.withLock { state -> (Bool, Piece?) in
                let piece = state.take(id)
                if piece != nil || state.readers[id] == nil { return (true, piece) }
                state.readers[id]?.waiter = continuation
                return (false, nil)
            }
            if isOver { continuation.resume(returning: piece) }
        }
    }

    fileprivate func disconnect(_ id: Int) {
        state.withLock { $0.readers.removeValue(forKey: id)?.waiter }?.resume(returning: nil)
    }
}

/// A client of a ``MockStream``: a thread of a server, or the chunks of a stub's response.
final class MockStreamReader: ResponseChunks {
    private let stream: MockStream
    private let id: Int
    private let signal: DispatchSemaphore

    init(_ stream: MockStream, _ id: Int, _ signal: DispatchSemaphore) {
        (self.stream, self.id, self.signal) = (stream, id, signal)
    }

    deinit { cancel() }

    /// Returns the next piece, or `nil` if there is none within the time.
    func next(within time: DispatchTimeInterval) -> MockStream.Piece? {
        if let piece = stream.take(id) { return piece }
        _ = signal.wait(timeout: .now() + time)
        return stream.take(id)
    }

    func next() async throws -> Data? {
        let piece = await withTaskCancellationHandler {
            await stream.next(id)
        } onCancel: {
            cancel()
        }
        switch piece {
        case .bytes(let bytes): return bytes.isEmpty ? try await next() : bytes
        case .end(.complete): return nil
        case .end(.cut): throw NetworkError(.closedInBody)
        case .end(.reset): throw NetworkError(.connectionReset)
        case nil: throw CancellationError()
        }
    }

    func cancel() { stream.disconnect(id) }
}
