internal import Synchronization

/// Passes the body of a response to a reader outside of its send, and keeps the send running until the reader has finished.
final class StreamReceiver: BodyReceiver {
    /// A response whose body is about to be read.
    struct Opening: Sendable {
        let response: RawResponse
        let method: HTTPMethod
        let chunks: any ResponseChunks
    }

    private enum Step {
        case wait
        case report(TransferProgress)
        case end(Result<Void, any Error>)
    }

    private struct State {
        var isOpen = false
        /// The last request that was sent, or `nil` if there was none.
        var sent: (method: HTTPMethod, retryObstacle: String?)?
        /// The steps in which the progress is reported, or `nil` if nobody observes it.
        var steps: ProgressSteps?
        var byteCount: Int64 = 0
        /// The latest progress that was not yet reported; the next one replaces it.
        var progress: TransferProgress?
        var end: Result<Void, any Error>?
        /// Whether what the reader has received ends within a server-sent event.
        var isWithinEvent = false
        var waiter: Delivery<Void>?

        /// Returns the next step, or lets the waiter wait for it.
        mutating func next(_ waiter: Delivery<Void>) -> Step {
            if let progress {
                self.progress = nil
                return .report(progress)
            }
            if let end { return .end(end) }
            self.waiter = waiter
            return .wait
        }
    }

    /// What the request for a stream of events contains, or `nil` for any other stream.
    let events: EventConnection?
    /// The response, or the error of a send that ended without one.
    let opened = Delivery<Result<Opening, any Error>>()
    private let state = Lock(State())
    /// Whether a cancellation or a deadline has ended the exchange; it is read for each element, so without the lock.
    private let wasStopped = Atomic(false)

    /// The sends of the stream of events.
    let sequence: SendSequence?

    init(events: EventConnection? = nil, in sequence: SendSequence? = nil) {
        self.events = events
        self.sequence = sequence
    }

    /// Why the last request must not be sent once more after a failure, or `nil` if it may be, or if none was sent.
    var retryObstacle: String? { state.withLock { $0.sent?.retryObstacle } }

    /// Whether the last request may be sent once more after a complete response to it.
    func mayRepeatComplete(_ stream: ResponseStream) -> Bool {
        state.withLock { $0.sent?.method ?? stream.method }.isSafe && retryObstacle == nil
    }

    // MARK: Called by the send

    var received: (any Sendable)? { state.withLock { $0.isOpen } ? true : nil }

    /// A reader that has a response must not be given another one.
    var allowsRetry: Bool { !state.withLock { $0.isOpen } }

    var isStream: Bool { true }

    func willAttempt(_ request: inout OutgoingRequest, of send: any ReceivedSend) {
        events?.prepare(&request)
        let sent = (request.method, request.retryObstacle)
        state.withLock { $0.sent = sent }
    }

    func end() { finish(.failure(CancellationError())) }

    func takesRejected(_ response: TransportResponse) -> Bool { false }

    func receive(
        _ response: TransportResponse,
        _ head: RawResponse,
        to request: OutgoingRequest,
        of send: any ReceivedSend,
        report: ProgressReport?
    ) async throws -> Int {
        let chunks = response.body.chunks
        defer { chunks.cancel() }
        // With a content coding, only the encoded length is known.
        let length = response.headers.hasIdentityCoding ? response.headers["Content-Length"] : nil
        let steps = report.map { _ in ProgressSteps(direction: .download, total: length.flatMap { Int64($0) }) }
        let isFirst = state.withLock { state in
            defer { (state.isOpen, state.steps) = (true, steps) }
            return !state.isOpen
        }
        guard isFirst else {
            throw NetworkError(.other("the reader has a response already: an interceptor sent the request again"))
        }
        opened.deliver(.success(Opening(response: head, method: request.method, chunks: chunks)))
        try await withTaskCancellationHandler {
            try await runUntilEnd(report)
        } onCancel: {
            wasStopped.store(true, ordering: .releasing)
            finish(.failure(CancellationError()))
        }
        return response.statusCode
    }

    private func runUntilEnd(_ report: ProgressReport?) async throws {
        while true {
            let waiter = Delivery<Void>()
            switch state.withLock({ $0.next(waiter) }) {
            case .wait: await waiter.value()
            case .report(let progress): await report?(progress)
            case .end(let end): return try end.get()
            }
        }
    }

    /// Whether the complete body ended within a server-sent event, which was dropped.
    var hasDroppedEvent: Bool { state.withLock { $0.isWithinEvent } }

    // MARK: Called by the reader

    /// Records whether the end of the body, if it is next, would drop an event.
    func note(isWithinEvent: Bool) { state.withLock { $0.isWithinEvent = isWithinEvent } }

    /// Whether a cancellation or a deadline has ended the exchange before its reader has finished.
    var isStopped: Bool { wasStopped.load(ordering: .acquiring) }

    /// Records that the reader has received bytes.
    func didRead(_ count: Int) {
        notify { state in
            state.byteCount &+= Int64(count)
            state.progress = state.steps?.progress(at: state.byteCount) ?? state.progress
        }
    }

    /// Records that the reader has finished, which ends the send; the first call counts.
    ///
    /// - Parameters:
    ///   - end: The outcome.
    ///   - isComplete: Whether the reader has received the complete body, unless it fails.
    func finish(_ end: Result<Void, any Error>, isComplete: Bool = true) {
        notify { state in
            guard state.end == nil else { return }
            state.end = end
            guard isComplete, case .success = end else {
                state.isWithinEvent = false
                return
            }
            state.progress = state.steps?.last(at: state.byteCount) ?? state.progress
        }
    }

    private func notify(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state -> Delivery<Void>? in
            change(&state)
            guard state.progress != nil || state.end != nil else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.deliver(())
    }
}
