internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One exchange over URLSession: its callbacks become one head and a body.
///
/// The head is final only when a byte of the body or the completion arrives, since interim responses are reported like
/// any other; each new head replaces the one before.
final class SessionExchange: Stoppable {
    private struct State {
        var head: HTTPURLResponse?
        var times = TransportTimings()
        var waiter: CheckedContinuation<TransportResponse, any Error>?
        var task: URLSessionTask?
        var isChallenged = false
        /// Set with the first outcome that the caller is to see.
        var isSettled = false
        /// Nobody wants the rest.
        var isCancelled = false
        /// Set with the last callback.
        var hasEnded = false
        var body = Data()
        var byteCount = 0
        /// The chunks, once the head was handed up before the body was whole.
        var stream: SpillingChunks?
        /// When something was last sent or received.
        var lastActivity: ContinuousClock.Instant?
        /// Why the rest of the body is not wanted.
        var refusal: NetworkError?
    }

    private let request: OutgoingRequest
    private let options: TransportOptions
    private let control: DispatchQueue
    private let state = Lock(State())

    /// Its tasks are cancelled, and while the shared queue is busy made, on the control queue.
    init(request: OutgoingRequest, options: TransportOptions, control: DispatchQueue) {
        self.request = request
        self.options = options
        self.control = control
    }

    var isSettled: Bool { state.withLock { $0.isSettled } }

    func await(_ continuation: CheckedContinuation<TransportResponse, any Error>) {
        let isSettled = state.withLock { state in
            if !state.isSettled { state.waiter = continuation }
            return state.isSettled
        }
        if isSettled { continuation.resume(throwing: CancellationError()) }
    }

    /// The task is about to start.
    func begin() {
        SharedQueue.exchangeBegan()
        state.withLock { $0.times.started = .now }
    }

    /// Takes the task, which has started and may even have ended; one that nobody waits for any more is cancelled.
    ///
    /// Not before: cancelling a task that has not started is another thing to URLSession.
    func began(_ task: URLSessionTask) {
        let isUnwanted = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.task = task
            state.lastActivity = .now
            return state.isCancelled
        }
        if isUnwanted { stop() }
    }

    func urlRequest() -> URLRequest {
        SessionRequest(request, bodyStream: bodyStream()).urlRequest
    }

    /// A new stream from the body's first byte, or `nil` when there is no body.
    func bodyStream() -> InputStream? {
        request.body.stream { [weak self] in self?.noteActivity() }
    }

    /// Whether the request could be sent a second time without anybody being asked, and must not be.
    ///
    /// libcurl does so when a kept-alive connection dies without a byte of an answer; only a body lets it ask.
    var needsNewConnection: Bool { request.body.isEmpty && !request.mayBeSentTwice }

    /// The stream to send the body with once more, on another connection: a kept-alive one died without a byte of an
    /// answer, and nobody knows whether the request was received.
    ///
    /// Where that may do something twice the exchange fails at once. At most the head of a second request leaves then;
    /// without its body that is no request.
    func renewedBodyStream() -> InputStream? {
        if request.mayBeSentTwice, request.body.isReplayable { return bodyStream() }
        state.withLock { $0.refusal = $0.refusal ?? NetworkError(.closedWithoutResponse) }
        stop()
        return OutgoingBody.brokenStream()
    }

    /// Ends the exchange for its caller at once, and its task as soon as URLSession has time.
    ///
    /// May be called from anywhere, for it waits for nobody: in a cancellation handler nothing may block.
    func stop() {
        let (waiter, stream, task, error) = state.withLock { state in
            defer { (state.isSettled, state.isCancelled, state.waiter) = (true, true, nil) }
            let error: any Error = state.refusal ?? CancellationError()
            return (state.waiter, state.stream, state.task, error)
        }
        if let task { control.async { task.cancel() } }
        stream?.finish(throwing: error)
        waiter?.resume(throwing: error)
    }

    // MARK: The idle timeout

    /// The longest silence: at least none, at most what clocks can add to their time.
    var idleTimeout: Duration { min(max(.zero, options.idleTimeout), .seconds(Int32.max)) }

    /// How long the exchange may still be silent; `nil` when nobody waits for it any more.
    func idleTimeLeft() -> Duration? {
        state.withLock { state in
            guard !state.hasEnded, !state.isCancelled else { return nil }
            // Without a task it still waits for its start.
            guard state.task != nil, let last = state.lastActivity else { return idleTimeout }
            return idleTimeout - (ContinuousClock.now - last)
        }
    }

    func timeOut() {
        state.withLock { $0.refusal = $0.refusal ?? NetworkError(.idleTimeout(options.idleTimeout)) }
        stop()
    }

    private func noteActivity() { state.withLock { $0.lastActivity = .now } }

    // MARK: Callbacks, on the queue of all sessions

    func receive(head: URLResponse) {
        state.withLock { state in
            state.head = head as? HTTPURLResponse
            state.times.headReceived = .now
            state.lastActivity = state.times.headReceived
            state.body = Data()
            state.byteCount = 0
        }
    }

    func receive(_ data: Data) {
        let (stream, ready, isRefused) = state.withLock { state -> (SpillingChunks?, Ready?, Bool) in
            let (sum, isTooLarge) = state.byteCount.addingReportingOverflow(data.count)
            state.byteCount = isTooLarge ? .max : sum
            if state.byteCount > SharedQueue.largeBody { SharedQueue.isBusy() }
            guard state.refusal == nil, !state.isSettled || state.stream != nil else { return (nil, nil, false) }
            state.lastActivity = .now
            state.refusal = refusal(of: state)
            guard state.refusal == nil else {
                state.body = Data()
                return (nil, nil, true)
            }
            if let stream = state.stream { return (stream, nil, false) }
            if state.body.isEmpty { state.body = data } else { state.body.append(data) }
            guard state.body.count > options.readAhead else { return (nil, nil, false) }
            return (nil, startStreaming(&state), false)
        }
        stream?.append(data)
        ready?.deliver()
        if isRefused { stop() }
    }

    /// Why an answer that has come so far is not wanted any more.
    private func refusal(of state: State) -> NetworkError? {
        if state.byteCount > options.maximumBodySize {
            return NetworkError(.bodyTooLarge(limit: options.maximumBodySize))
        }
        if state.byteCount > TransportOptions.expansionFloor, let wireCount = state.head?.codedByteCount,
            state.byteCount / max(1, wireCount) >= options.maximumExpansion
        {
            return NetworkError(.decompressionRatio(limit: options.maximumExpansion))
        }
        return nil
    }

    func wasChallenged() { state.withLock { $0.isChallenged = true } }

    func complete(error: (any Error)?, lastResponse: () -> URLResponse?) {
        SharedQueue.exchangeEnded()
        let (stream, failure, ready) = state.withLock { state -> (SpillingChunks?, (any Error)?, Ready?) in
            defer { (state.task, state.hasEnded) = (nil, true) }
            state.times.finished = .now
            // Some redirects without a usable Location are reported only here; it costs, so only then is it asked for.
            state.head = state.head ?? lastResponse() as? HTTPURLResponse
            let failure = self.failure(of: error, state)
            if let stream = state.stream { return (stream, failure, nil) }
            guard !state.isSettled else { return (nil, nil, nil) }
            state.isSettled = true
            let waiter = state.waiter
            state.waiter = nil
            if let failure { return (nil, nil, Ready(waiter: waiter, result: .failure(failure))) }
            return (nil, nil, Ready(waiter: waiter, result: response(state, ResponseBody(state.body))))
        }
        stream?.finish(throwing: failure)
        ready?.deliver()
    }

    /// An outcome, to be told outside the lock.
    ///
    /// A class, for an Optional of so large a struct is copied by way of its metadata.
    private final class Ready {
        let waiter: CheckedContinuation<TransportResponse, any Error>?
        let result: Result<TransportResponse, any Error>

        init(waiter: CheckedContinuation<TransportResponse, any Error>?, result: Result<TransportResponse, any Error>) {
            self.waiter = waiter
            self.result = result
        }

        func deliver() { waiter?.resume(with: result) }
    }

    private func startStreaming(_ state: inout State) -> Ready {
        let stream = SpillingChunks { [weak self] in self?.stop() }
        stream.append(state.body)
        state.body = Data()
        state.stream = stream
        state.isSettled = true
        defer { state.waiter = nil }
        return Ready(waiter: state.waiter, result: response(state, ResponseBody(chunks: stream)))
    }

    private func response(_ state: State, _ body: ResponseBody) -> Result<TransportResponse, any Error> {
        guard let head = state.head else { return .failure(NetworkError(.closedWithoutResponse)) }
        let headers = HTTPHeaders(reading: { head.fields })
        if options.maximumHeadSize < Limits.greatestHeadSize {
            let size = headers.reduce(0) { $0 &+ $1.name.utf8.count &+ $1.value.utf8.count }
            guard size <= options.maximumHeadSize else { return .failure(NetworkError(.headTooLarge)) }
        }
        return .success(
            TransportResponse(
                statusCode: head.statusCode,
                headers: headers,
                body: body,
                timings: state.times
            )
        )
    }

    private func failure(of error: (any Error)?, _ state: State) -> (any Error)? {
        if let refusal = state.refusal { return refusal }
        guard let error else { return nil }
        if state.isChallenged, state.head != nil, (error as? URLError)?.code == .cancelled { return nil }
        return SessionFailure.classify(error, idleTimeout: options.idleTimeout, hasHead: state.head != nil)
    }
}

extension HTTPURLResponse {
    /// The fields of the head.
    ///
    /// URLSession keeps neither their order nor, where spellings differ only in case, their unity: lines of one name
    /// are joined, and names sorted so that equal heads are equal lists.
    fileprivate var fields: [HTTPHeaders.Field] {
        allHeaderFields.compactMap { name, value in
            guard let name = name.base as? String, let value = value as? String else { return nil }
            return HTTPHeaders.Field(name: name, value: value)
        }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The `Content-Length` of a body with a `Content-Encoding`, or `nil` when one of them is missing.
    fileprivate var codedByteCount: Int? {
        guard value(forHTTPHeaderField: "Content-Encoding") != nil else { return nil }
        return value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
