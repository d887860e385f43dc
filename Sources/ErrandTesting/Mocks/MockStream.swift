import Dispatch
public import Errand
public import Foundation

/// A body that the test sends, piece by piece, to the clients that read it.
///
/// What is sent while no client reads is kept for the first that does. What follows a ``close(_:)`` is for the connections
/// after it, so a test can let a client reconnect.
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
        var kept: [Piece] = []
        /// Weak, because a response that nobody reads any more has ended.
        var readers: [ObjectIdentifier: WeakReader] = [:]
        var count = 0
        var waiters = CountWaiters()
    }

    private struct WeakReader {
        weak var reader: MockStreamReader?
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
        lines += event.data.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)" }
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
        let readers = state.withLock { state in
            let readers = state.readers.values.compactMap(\.reader)
            if readers.isEmpty { state.kept.append(piece) }
            if case .end = piece { state.readers = [:] }
            return readers
        }
        for reader in readers { reader.add([piece]) }
    }

    /// Returns a reader that reads nothing before ``connect(_:)``.
    func makeReader() -> MockStreamReader { MockStreamReader { [weak self] in self?.remove($0) } }

    /// Connects a reader to what is kept and what follows, unless it was cancelled.
    func connect(_ reader: MockStreamReader) {
        let waiters = state.withLock { state in
            guard !reader.isCancelled else { return [CheckedContinuation<Bool, Never>]() }
            let end = state.kept.firstIndex { if case .end = $0 { true } else { false } }
            let count = end.map { $0 + 1 } ?? state.kept.count
            reader.add(Array(state.kept.prefix(count)))
            state.kept.removeFirst(count)
            if end == nil { state.readers[ObjectIdentifier(reader)] = WeakReader(reader: reader) }
            state.count += 1
            return state.waiters.removeReached(state.count)
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    private func remove(_ reader: MockStreamReader) {
        _ = state.withLock { $0.readers.removeValue(forKey: ObjectIdentifier(reader)) }
    }
}

/// A client of a ``MockStream``: a thread of a server, or the chunks of a stub's response.
final class MockStreamReader: ResponseChunks {
    private struct State {
        var pieces: [MockStream.Piece] = []
        var isCancelled = false
        var waiter: CheckedContinuation<MockStream.Piece?, Never>?
    }

    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)
    private let end: @Sendable (MockStreamReader) -> Void

    init(end: @escaping @Sendable (MockStreamReader) -> Void) { self.end = end }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func add(_ pieces: [MockStream.Piece]) {
        let (waiter, piece) = state.withLock {
            state -> (CheckedContinuation<MockStream.Piece?, Never>?, MockStream.Piece?) in
            state.pieces += pieces
            guard let waiter = state.waiter, !state.pieces.isEmpty else { return (nil, nil) }
            state.waiter = nil
            return (waiter, state.pieces.removeFirst())
        }
        waiter?.resume(returning: piece)
        signal.signal()
    }

    /// Returns the next piece, or `nil` if there is none within the time.
    func next(within time: DispatchTimeInterval) -> MockStream.Piece? {
        if let piece = take() { return piece }
        _ = signal.wait(timeout: .now() + time)
        return take()
    }

    func next() async throws -> Data? {
        let piece = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isOver, piece) = state.withLock { state -> (Bool, MockStream.Piece?) in
                    if state.isCancelled { return (true, nil) }
                    if !state.pieces.isEmpty { return (true, state.pieces.removeFirst()) }
                    state.waiter = continuation
                    return (false, nil)
                }
                if isOver { continuation.resume(returning: piece) }
            }
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

    func cancel() {
        let waiter = state.withLock { state in
            state.isCancelled = true
            defer { state.waiter = nil }
            return state.waiter
        }
        // First, so that what is sent after the reader has ended is not for it.
        end(self)
        waiter?.resume(returning: nil)
    }

    private func take() -> MockStream.Piece? {
        state.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }
    }
}
