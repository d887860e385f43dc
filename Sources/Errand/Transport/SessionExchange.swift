internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One exchange over URLSession: turns its callbacks into one header section and a body.
///
/// The header section is final only when a byte of the body or the completion arrives, because interim responses are
/// reported like any other; each new header section replaces the previous one.
final class SessionExchange: StoppableExchange {
    struct State {
        var headerSection: HTTPURLResponse?
        var times = TransportTimings()
        var task: URLSessionTask?
        /// The transfer of the task, on the queue of all sessions.
        var transfer: SessionTransfer?
        /// Whether the response is complete, although its task ends with an error.
        var isComplete = false
        /// Whether the task's request has begun on a connection.
        var hasBegun = false
        /// Whether it was about to begin again, and must not.
        var isInterrupted = false
        /// The first task, if a second one sends the request because the connection of the first one died, or refused it.
        var retired: URLSessionTask?
        /// Set with the first outcome that the caller receives.
        var isSettled = false
        /// Whether the rest is no longer needed.
        var isCancelled = false
        /// Set with the last callback.
        var hasEnded = false
        var body = Data()
        var byteCount = 0
        /// The chunks, if the header section was returned before the body was complete.
        var stream: SpillingChunks?
        /// The time when something was last sent or received.
        var lastActivity: Moment?
        /// The reason why the rest of the body is rejected.
        var rejection: (any Error)?
        /// The age at which the reception is renewed next, or `nil` if it never is.
        var renewalAge = SessionPlatform.firstRenewal
    }

    let request: OutgoingRequest
    let options: TransportOptions
    let cancellations: SessionCancellations
    let state = Lock(State())
    private let outcome = Delivery<Result<TransportResponse, any Error>>()

    init(request: OutgoingRequest, options: TransportOptions, cancellations: SessionCancellations) {
        var request = request
        if case .source = request.body { request.body = request.body.measured }
        self.request = request
        self.options = options
        self.cancellations = cancellations
    }

    /// Whether the exchange was stopped; its task is cancelled, or is about to be.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Waits for the header section and for what is read ahead of the body; may be called once.
    func response() async throws -> TransportResponse { try await outcome.value().get() }

    /// Records that a task is about to be created and started; returns `false` if the exchange has ended already.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isSettled else { return false }
            state.times.startedMoment = state.times.startedMoment ?? .now
            return true
        }
    }

    /// Sets the task, which has started and may even have ended; it is cancelled if the exchange was stopped.
    ///
    /// Not earlier, because URLSession handles the cancellation of a task that has not started differently.
    func began(_ task: URLSessionTask) {
        let isUnwanted = state.withLock { state in
            guard !state.hasEnded, state.retired !== task else { return false }
            state.task = task
            state.lastActivity = .now
            return state.isCancelled
        }
        if isUnwanted { stop() }
    }

    func urlRequest() -> URLRequest {
        let body: SessionRequest.Body?
        if let data = request.dataForSession(), state.withLock({ $0.retired == nil }) {
            body = .data(data)
        } else {
            body = bodyStream().map(SessionRequest.Body.stream)
        }
        return SessionRequest(request, body: body, allowsCellularAccess: options.allowsCellularAccess).urlRequest
    }

    /// Returns a new stream from the body's first byte, or `nil` if there is no body.
    func bodyStream() -> InputStream? {
        request.body.stream(
            onRead: { [weak self] in self?.noteActivity() },
            onFailure: { [weak self] in self?.fail($0) }
        )
    }

    /// Whether the request must not share a connection with others.
    ///
    /// A stream may be paused or silent for hours, and would count among the connections to its host all that time.
    var needsNewConnection: Bool { options.isStream || request.needsNewConnection }

    /// Ends the exchange for its caller at once, and its task as soon as URLSession can.
    ///
    /// May be called from anywhere, because it does not wait: a cancellation handler must not block.
    func stop() {
        let (stream, task, error) = state.withLock { state in
            defer { (state.isSettled, state.isCancelled) = (true, true) }
            let error: any Error = state.rejection ?? CancellationError()
            return (state.stream, state.task, error)
        }
        if let task { cancellations.add(task) }
        stream?.finish(throwing: error)
        outcome.deliver(.failure(error))
    }

    /// Fails the exchange, such as with the error of a body, which a stream cannot report itself.
    func fail(_ error: any Error) {
        state.withLock { $0.rejection = $0.rejection ?? error }
        stop()
    }

    // MARK: Callbacks, on the queue of all sessions

    func receive(headerSection: URLResponse, of task: URLSessionTask) {
        let (ready, isRejected) = state.withLock { state -> (Ready?, Bool) in
            state.headerSection = headerSection as? HTTPURLResponse
            state.times.headersReceivedMoment = .now
            state.lastActivity = state.times.headersReceivedMoment
            state.body = Data()
            state.byteCount = 0
            // An interim response is followed by another one, and URLSession keeps the body of a redirect to itself.
            guard !SessionPlatform.mayHaveProxy, let status = state.headerSection?.statusCode, status / 100 != 1 else {
                return (nil, false)
            }
            state.transfer?.dropFurtherLines()
            guard options.isStream, !state.isSettled, status / 100 != 3 else { return (nil, false) }
            let ready = startStreaming(&state, task)
            return (ready, ready == nil)
        }
        if let ready { deliver(ready) }
        if isRejected { stop() }
    }

    func receive(_ data: Data, of task: URLSessionTask) {
        let (stream, ready, isRejected) = state.withLock { state -> (SpillingChunks?, Ready?, Bool) in
            let (sum, isTooLarge) = state.byteCount.addingReportingOverflow(data.count)
            state.byteCount = isTooLarge ? .max : sum
            if state.byteCount == data.count { state.transfer?.dropFurtherLines() }
            if state.byteCount > SessionQueueLoad.largeBody { SessionQueueLoad.isBusy() }
            guard state.rejection == nil, !state.isSettled || state.stream != nil else { return (nil, nil, true) }
            state.lastActivity = .now
            state.rejection = rejection(state, isFirstChunk: state.byteCount == data.count)
            if let rejection = state.rejection {
                defer { state.body = Data() }
                return (nil, state.stream == nil ? failed(state, with: rejection, adding: data) : nil, true)
            }
            if let stream = state.stream { return (stream, nil, false) }
            if state.body.isEmpty { state.body = data } else { state.body.append(data) }
            guard state.body.count > options.readAhead else { return (nil, nil, false) }
            let ready = startStreaming(&state, task)
            return (nil, ready, ready == nil)
        }
        stream?.append(data)
        if let ready { deliver(ready) }
        guard isRejected else { return }
        stop()
        // The task is cancelled on the queue that its bytes occupy: over HTTP/2, libcurl returns there only when the server pauses.
        SessionReception(task, state.withLock { $0.transfer })?.pause()
    }

    /// Records that the response is complete, whatever the error of its task will be.
    func noteCompleteResponse() { state.withLock { $0.isComplete = true } }

    func complete(error: (any Error)?, lastResponse: () -> URLResponse?) {
        SessionQueueLoad.exchangeEnded()
        let (stream, failure, ready) = state.withLock { state -> (SpillingChunks?, (any Error)?, Ready?) in
            defer { (state.task, state.transfer, state.hasEnded) = (nil, nil, true) }
            state.times.finishedMoment = .now
            // Some redirects without a usable Location are reported only here. It is costly, so it is read only then.
            state.headerSection = state.headerSection ?? lastResponse() as? HTTPURLResponse
            let failure = self.failure(of: error, state)
            if let stream = state.stream { return (stream, failure, nil) }
            guard !state.isSettled else { return (nil, nil, nil) }
            state.isSettled = true
            if let failure { return (nil, nil, failed(state, with: failure)) }
            return (nil, nil, Ready(response(state, ResponseBody(state.body))))
        }
        stream?.finish(throwing: failure)
        if let ready { deliver(ready) }
    }

    /// Delivers an outcome, outside the lock: chunks that cannot be kept aside stop the exchange.
    private func deliver(_ ready: Ready) {
        outcome.deliver(ready.result)
        if let stream = ready.stream { stream.chunks.append(stream.beginning) }
    }

    /// Returns the response with a body that is still being received, or `nil` if it is rejected.
    ///
    /// The reader is created last: it stops the exchange when it is deallocated, which must not happen inside the lock.
    private func startStreaming(_ state: inout State, _ task: URLSessionTask) -> Ready? {
        var response: TransportResponse
        switch self.response(state, ResponseBody(Data())) {
        case .success(let accepted): response = accepted
        case .failure(let error):
            state.rejection = error as? NetworkError
            state.body = Data()
            return nil
        }
        let stream = SpillingChunks(pausing: SessionReception(task, state.transfer)) { [weak self] in self?.stop() }
        let beginning = state.body
        state.body = Data()
        state.stream = stream
        state.isSettled = true
        response.body = ResponseBody(chunks: SpillingChunksReader(stream))
        return Ready(.success(response), stream: (stream, beginning))
    }
}
