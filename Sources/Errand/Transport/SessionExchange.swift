internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One exchange over URLSession: its callbacks become one head and a body.
///
/// The head is final only when a byte of the body or the completion arrives, since interim responses are reported like
/// any other; each new head replaces the one before.
final class SessionExchange: Sendable {
    private struct State {
        var head: HTTPURLResponse?
        var times = TransportTimings()
        var waiter: CheckedContinuation<TransportResponse, any Error>?
        var task: URLSessionTask?
        var stop: (@Sendable () -> Void)?
        var isChallenged = false
        /// Set with the first outcome that the caller is to see.
        var isSettled = false
        var body = Data()
        var byteCount = 0
        /// The chunks, once the head was handed up before the body was whole.
        var stream: SpillingChunks?
        /// Why the rest of the body is not wanted.
        var refusal: NetworkError?
    }

    private let request: OutgoingRequest
    private let options: TransportOptions
    private let state = Lock(State())

    init(request: OutgoingRequest, options: TransportOptions) {
        self.request = request
        self.options = options
    }

    var isSettled: Bool { state.withLock { $0.isSettled } }

    func await(_ continuation: CheckedContinuation<TransportResponse, any Error>) {
        let isSettled = state.withLock { state in
            if !state.isSettled { state.waiter = continuation }
            return state.isSettled
        }
        if isSettled { continuation.resume(throwing: CancellationError()) }
    }

    /// Takes the task that runs.
    ///
    /// - Parameters:
    ///   - task: Just made, and not resumed yet.
    ///   - stop: Asks for the task's cancellation, from any thread, without blocking.
    func began(_ task: URLSessionTask, stop: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.task = task
            state.stop = stop
            state.times.started = .now
        }
    }

    func urlRequest() -> URLRequest { SessionRequest(request, options: options).urlRequest }

    func bodyStream() -> InputStream? { request.body.stream() }

    /// Ends the exchange for its caller at once; the task to cancel is returned, to be cancelled on the control queue.
    func cancel() -> URLSessionTask? {
        let (waiter, stream, task, error) = state.withLock { state in
            defer { (state.isSettled, state.waiter) = (true, nil) }
            let error: any Error = state.refusal ?? CancellationError()
            return (state.waiter, state.stream, state.task, error)
        }
        stream?.finish(throwing: error)
        waiter?.resume(throwing: error)
        return task
    }

    // MARK: Callbacks, on the queue of all sessions

    func receive(head: URLResponse) {
        state.withLock { state in
            state.head = head as? HTTPURLResponse
            state.times.headReceived = .now
            state.body = Data()
            state.byteCount = 0
        }
    }

    func receive(_ data: Data) {
        let (stream, ready, stop) = state.withLock { state -> (SpillingChunks?, Ready?, (@Sendable () -> Void)?) in
            guard state.refusal == nil, !state.isSettled || state.stream != nil else { return (nil, nil, nil) }
            state.byteCount += data.count
            guard state.byteCount <= options.maximumBodySize else {
                state.refusal = NetworkError(.bodyTooLarge(limit: options.maximumBodySize))
                state.body = Data()
                return (nil, nil, state.stop)
            }
            if let stream = state.stream { return (stream, nil, nil) }
            if state.body.isEmpty { state.body = data } else { state.body.append(data) }
            guard state.body.count > options.readAhead else { return (nil, nil, nil) }
            return (nil, startStreaming(&state), nil)
        }
        stream?.append(data)
        ready?.deliver()
        stop?()
    }

    func wasChallenged() { state.withLock { $0.isChallenged = true } }

    func complete(error: (any Error)?, lastResponse: URLResponse?) {
        let (stream, failure, ready) = state.withLock { state -> (SpillingChunks?, (any Error)?, Ready?) in
            defer { (state.task, state.stop) = (nil, nil) }
            state.times.finished = .now
            // Some redirects without a usable Location are reported only here.
            state.head = state.head ?? lastResponse as? HTTPURLResponse
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
    private struct Ready {
        let waiter: CheckedContinuation<TransportResponse, any Error>?
        let result: Result<TransportResponse, any Error>
        func deliver() { waiter?.resume(with: result) }
    }

    private func startStreaming(_ state: inout State) -> Ready {
        let stream = SpillingChunks(onCancel: state.stop ?? {})
        stream.append(state.body)
        state.body = Data()
        state.stream = stream
        state.isSettled = true
        defer { state.waiter = nil }
        return Ready(waiter: state.waiter, result: response(state, ResponseBody(chunks: stream)))
    }

    private func response(_ state: State, _ body: ResponseBody) -> Result<TransportResponse, any Error> {
        guard let head = state.head else { return .failure(NetworkError(.closedWithoutResponse)) }
        return .success(
            TransportResponse(
                statusCode: head.statusCode,
                headers: HTTPHeaders(head),
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

extension HTTPHeaders {
    /// The fields of an answer.
    ///
    /// URLSession keeps neither their order nor, where spellings differ only in case, their unity: lines of one name
    /// are joined, and names sorted so that equal heads are equal lists.
    init(_ response: HTTPURLResponse) {
        var fields: [Field] = []
        fields.reserveCapacity(response.allHeaderFields.count)
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String {
                fields.append(Field(name: name, value: value))
            }
        }
        fields.sort { $0.name < $1.name }
        self.init(fields)
    }
}
