#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// One exchange over libcurl: turns its callbacks into one header section and a body.
///
/// Everything but ``response()`` and ``stop()`` is called by the event loop.
final class CurlExchange: StoppableExchange {
    let request: OutgoingRequest
    let options: TransportOptions
    private let loop: CurlEventLoop
    private let outcome = ExchangeOutcome()
    /// What is known of the response so far.
    ///
    /// Unchecked: only the event loop's thread uses it.
    private nonisolated(unsafe) var reception: Reception
    /// The handle while libcurl has the transfer; unchecked, because only the event loop's thread uses it.
    nonisolated(unsafe) var handle: CurlHandle?
    /// Whether the exchange was stopped before it began, or has ended; unchecked like the handle.
    nonisolated(unsafe) var hasEnded = false

    private struct Reception {
        var headerSection = HeaderSection()
        var times = TransportTimings()
        var reader: (any BodyReader)?
        /// The decoder until the body is passed to its reader.
        var decoder: ContentDecoder?
        var body = Data()
        var receivedByteCount = 0
        /// The body, if the header section was returned before it was complete.
        var stream: CurlBody?
        /// The reason why the exchange was ended by a callback.
        var failure: (any Error)?
        var lastActivity: ContinuousClock.Instant
        /// Whether the transfer waits for the reader of its body.
        var isPaused = false
    }

    init(_ request: OutgoingRequest, _ options: TransportOptions, on loop: CurlEventLoop) {
        self.request = request
        self.options = options
        self.loop = loop
        reception = Reception(lastActivity: .now)
    }

    private var now: ContinuousClock.Instant { handle?.transfers.now ?? .now }

    /// Waits for the header section, with the body as far as it is read ahead; may be called once.
    func response() async throws -> TransportResponse { try await outcome.value().get() }

    /// Ends the exchange for its caller at once, from any thread, and its transfer as soon as the event loop can.
    func stop() {
        outcome.deliver(.failure(CancellationError()))
        loop.submit(.stop(self))
    }

    // MARK: On the event loop

    /// Whether another request may be sent on the connection, and a retry of libcurl may send this one twice.
    var mayShareConnection: Bool { !options.isStream && (request.mayBeSentTwice || request.hasBody) }

    /// Records that libcurl begins the transfer.
    func begin(_ handle: CurlHandle, at now: ContinuousClock.Instant) {
        self.handle = handle
        reception.times.started = now
        reception.lastActivity = now
    }

    /// The time until the idle timeout, or `nil` if there is none now.
    func idleTimeLeft(at now: ContinuousClock.Instant) -> Duration? {
        reception.isPaused ? nil : idleTimeout - (now - reception.lastActivity)
    }

    /// The maximum idle time: not negative, and small enough that a clock can add it.
    var idleTimeout: Duration { min(max(.zero, options.idleTimeout), .seconds(Int32.max)) }

    /// Processes a line of a header section; returns whether the transfer may continue.
    func receive(line: UnsafeRawBufferPointer) -> Bool {
        reception.lastActivity = now
        let isTrailer = reception.headerSection.isFinal
        if let reason = reception.headerSection.add(line, limit: options.maximumHeaderSize) {
            return fail(NetworkError(reason))
        }
        guard reception.headerSection.isFinal, !isTrailer else { return true }
        reception.times.headersReceived = .now
        if options.readAhead == 0 { startStreaming() }
        return true
    }

    /// Processes bytes of the body; returns whether the transfer may continue.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        reception.lastActivity = now
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
        do {
            if reception.receivedByteCount == 0 { try beginBody() }
            reception.receivedByteCount += bytes.count
            if let stream = reception.stream {
                if stream.append(Data(bytes: start, count: bytes.count)) { pause() }
                return true
            }
            try collect(bytes)
            if reception.body.count > options.readAhead { startStreaming() }
            return true
        } catch {
            return fail(error)
        }
    }

    /// Fills a buffer with bytes of the request's body; returns their number, 0 at the end, or `nil` if there are none to be had.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        reception.lastActivity = now
        do {
            let reader = try reception.reader ?? request.body.makeReader()
            reception.reader = reader
            return try reader.read(into: buffer)
        } catch {
            _ = fail(error)
            return nil
        }
    }

    /// Returns to the start of the request's body, for a connection that was lost before the server responded.
    ///
    /// - Returns: Whether the request may be sent again.
    func rewind() -> Bool {
        guard request.mayBeSentTwice, request.body.isReplayable else { return false }
        reception.reader = nil
        return true
    }

    /// Prepares the request to be sent again; returns whether it may be.
    func mayRepeat() -> Bool { rewind() || fail(NetworkError(.closedWithoutResponse)) }

    /// Continues a transfer that waited for the reader of its body.
    func resume() {
        guard reception.isPaused, let handle else { return }
        reception.isPaused = false
        reception.lastActivity = .now
        handle.resume()
    }

    /// Ends the exchange: libcurl has ended the transfer with a code, or it was removed.
    func end(_ result: Result<Void, any Error>) {
        guard !hasEnded else { return }
        hasEnded = true
        reception.times.finished = .now
        let failure = self.failure(of: result)
        if let stream = reception.stream {
            stream.finish(throwing: failure)
        } else if let failure {
            outcome.deliver(.failure(failure))
        } else {
            outcome.deliver(.success(response(ResponseBody(reception.body))))
        }
        // The reader of the body and the stream may hold on to what ends with the exchange.
        (reception.reader, reception.stream, reception.decoder, handle) = (nil, nil, nil, nil)
        reception.body = Data()
    }

    /// Whether a final header section has arrived.
    var hasHeader: Bool { reception.headerSection.isFinal }

    // MARK: Within

    private func failure(of result: Result<Void, any Error>) -> (any Error)? {
        if let failure = reception.failure { return failure }
        if case .failure(let error) = result { return error }
        // libcurl reports a header section that ends early as success.
        guard hasHeader else { return NetworkError(.closedWithoutResponse) }
        if reception.stream != nil { return nil }
        do {
            try reception.decoder?.end()
            return nil
        } catch {
            return error
        }
    }

    /// Ends the transfer for a reason that is not libcurl's; returns `false`.
    private func fail(_ error: any Error) -> Bool {
        reception.failure = reception.failure ?? error
        return false
    }

    /// Checks, with its first byte, that there is a body that may be read.
    private func beginBody() throws(NetworkError) {
        let section = reception.headerSection
        guard section.codings.isEmpty else {
            if reception.stream == nil { reception.decoder = try ContentDecoder(section.codings, BodyLimits(options)) }
            return
        }
        if let length = section.contentLength, length > Int64(options.maximumBodySize) {
            throw NetworkError(.bodyTooLarge(limit: options.maximumBodySize))
        }
        let isSmall = section.contentLength.map { $0 <= 1 << 20 } ?? false
        if isSmall, reception.stream == nil { reception.body.reserveCapacity(Int(section.contentLength ?? 0)) }
    }

    /// Decodes bytes and keeps them.
    private func collect(_ bytes: UnsafeRawBufferPointer) throws {
        let limits = BodyLimits(options)
        guard let decoder = reception.decoder else {
            try limits.check(reception.body.count + bytes.count, received: nil)
            reception.body.append(contentsOf: bytes)
            return
        }
        decoder.feed(Data(bytes))
        while true {
            guard let scratch = handle?.transfers.scratch else { return }
            let count = try decoder.read(into: scratch)
            guard count > 0 else { return }
            reception.body.append(contentsOf: scratch[..<count])
            try limits.check(reception.body.count, received: reception.receivedByteCount)
        }
    }

    private func pause() {
        reception.isPaused = true
        handle?.pause()
    }

    /// Returns the header section to the caller, with a body that is still being received.
    private func startStreaming() {
        let stream = CurlBody(
            beginning: reception.body,
            decoder: reception.decoder,
            codings: reception.headerSection.codings,
            receivedByteCount: reception.receivedByteCount,
            limits: BodyLimits(options),
            onResume: { [loop, weak self] in if let self { loop.submit(.resume(self)) } },
            onCancel: { [loop, weak self] in if let self { loop.submit(.stop(self)) } }
        )
        (reception.decoder, reception.body, reception.stream) = (nil, Data(), stream)
        let response = response(ResponseBody(chunks: CurlBodyReader(stream)))
        outcome.deliver(.success(response))
    }

    private func response(_ body: ResponseBody) -> TransportResponse {
        TransportResponse(
            statusCode: reception.headerSection.statusCode,
            headers: reception.headerSection.headers,
            body: body,
            timings: reception.times,
            connection: handle?.connectionMetrics
        )
    }
}

extension OutgoingRequest {
    /// Whether there is a body, which may be empty if its length is not known.
    var hasBody: Bool { body.byteCount != 0 }
}
#endif
