#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// One exchange over libcurl: turns its callbacks into one header section and a body.
///
/// Everything but ``response()``, ``stop()`` and ``isStopped`` is called while the transfers of the event loop are locked.
final class CurlExchange: StoppableExchange {
    let request: OutgoingRequest
    let options: TransportOptions
    private let loop: CurlEventLoop
    private let outcome = ExchangeOutcome()
    /// The received part of the response.
    ///
    /// Behind a pointer, because each access to a property of a class is checked while it runs. Unchecked too: it is
    /// used under the event loop's lock.
    private nonisolated(unsafe) let reception = UnsafeMutablePointer<Reception>.allocate(capacity: 1)
    /// The handle while libcurl has the transfer; unchecked like the reception.
    nonisolated(unsafe) var handle: CurlHandle?
    /// Whether the exchange was stopped before it began, or has ended; unchecked like the reception.
    nonisolated(unsafe) var hasEnded = false
    /// Whether another transfer sends the request, because the connection of the first one died, or refused it; unchecked like
    /// the reception.
    nonisolated(unsafe) var isRestarted = false
    /// The place among those that wait for a connection; unchecked like the reception.
    nonisolated(unsafe) var place = 0

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
        /// By the clock of the event loop.
        var lastActivity: Int64 = 0
        /// Whether the transfer waits for the reader of its body.
        var isPaused = false
    }

    /// Scheme, host and port, as in the URL.
    let host: String

    init(_ request: OutgoingRequest, _ options: TransportOptions, on loop: CurlEventLoop) {
        self.request = request
        self.options = options
        self.loop = loop
        host = request.url.absoluteString.prefixThroughAuthority
        reception.initialize(to: Reception())
    }

    deinit {
        reception.deinitialize(count: 1)
        reception.deallocate()
    }

    /// Waits for the header section and for what is read ahead of the body; may be called once.
    func response() async throws -> TransportResponse { try await outcome.value().get() }

    /// Ends the exchange for its caller at once, from any thread, and its transfer as soon as the event loop can.
    func stop() {
        outcome.deliver(.failure(CancellationError()))
        loop.submit(.stop(self))
    }

    /// Whether the caller has a response or an error already.
    var isStopped: Bool { outcome.isDelivered }

    // MARK: On the event loop

    /// Whether the event loop has the exchange, which may still wait for a connection.
    var hasEntered: Bool { reception.pointee.times.startedMoment != nil }

    /// Records that the event loop has the exchange.
    func enter(at now: Int64) {
        reception.pointee.times.startedMoment = .now
        reception.pointee.lastActivity = now
    }

    /// The time of the idle timeout, by the clock of the event loop; `nil` if there is none now.
    var idleLimit: Int64? { reception.pointee.isPaused ? nil : reception.pointee.lastActivity + idleTimeout }

    /// The result if that time is reached.
    ///
    /// A server may respond before it has read a request, and never read the rest (RFC 9113, section 8.1).
    var idleResult: Result<Void, any Error> {
        isAnswered ? .success(()) : .failure(NetworkError(.idleTimeout(options.idleTimeout)))
    }

    /// Whether the response is complete, although libcurl still sends the request.
    private var isAnswered: Bool {
        guard request.hasBody, hasHeader else { return false }
        return [204, 304].contains(reception.pointee.headerSection.statusCode)
            || reception.pointee.headerSection.contentLength.map { $0 <= reception.pointee.receivedByteCount } ?? false
    }

    /// The maximum idle time in nanoseconds: not negative, and small enough that a clock can add it.
    private var idleTimeout: Int64 {
        let limit = isAnswered ? min(options.idleTimeout, TransportOptions.patienceAfterResponse) : options.idleTimeout
        let (seconds, attoseconds) = min(max(.zero, limit), .seconds(Int32.max)).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Processes a line of a header section; returns whether the transfer may continue.
    func receive(line: UnsafeRawBufferPointer, at now: Int64) -> Bool {
        reception.pointee.lastActivity = now
        let isTrailer = reception.pointee.headerSection.isFinal
        if let reason = reception.pointee.headerSection.add(line, limit: options.maximumHeaderSize) {
            return fail(NetworkError(reason))
        }
        guard reception.pointee.headerSection.isFinal, !isTrailer else { return true }
        reception.pointee.times.headersReceivedMoment = .now
        noteIfAnswered()
        // The body of a redirect is not needed, and may never end.
        if options.readAhead == 0 || reception.pointee.headerSection.isRedirect { startStreaming() }
        return true
    }

    /// Processes bytes of the body; returns whether the transfer may continue.
    func receive(_ bytes: UnsafeRawBufferPointer, at now: Int64) -> Bool {
        reception.pointee.lastActivity = now
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
        do {
            if reception.pointee.receivedByteCount == 0 { try beginBody() }
            reception.pointee.receivedByteCount += bytes.count
            noteIfAnswered()
            if let stream = reception.pointee.stream {
                if stream.append(Data(bytes: start, count: bytes.count)) { pause() }
                return true
            }
            try collect(bytes)
            if reception.pointee.body.count > options.readAhead { startStreaming() }
            return true
        } catch {
            return fail(error)
        }
    }

    /// Fills a buffer with bytes of the request's body; returns their number, 0 at the end, or `nil` if the body cannot
    /// be read.
    func supply(_ buffer: UnsafeMutableRawBufferPointer, at now: Int64) -> Int? {
        reception.pointee.lastActivity = now
        do {
            let reader = try reception.pointee.reader ?? request.body.makeReader()
            reception.pointee.reader = reader
            return try reader.read(into: buffer)
        } catch {
            _ = fail(error)
            return nil
        }
    }

    /// Whether libcurl has read a part of the request's body.
    ///
    /// If not, no server has the complete request.
    var hasReadBody: Bool { reception.pointee.reader != nil }

    /// Returns to the start of the request's body, for a connection that was lost before the server responded.
    ///
    /// - Returns: Whether the request may be sent again.
    func rewind() -> Bool {
        guard request.mayBeSentTwice, request.body.isReplayable else { return false }
        reception.pointee.reader = nil
        return true
    }

    /// Prepares the request to be sent again.
    ///
    /// - Parameter reason: Why the response would be the same, or `nil`.
    /// - Returns: Whether it may be sent again; otherwise the exchange fails.
    func mayRepeat(after reason: NetworkError.Reason?) -> Bool {
        reason == nil && rewind() || fail(NetworkError(reason ?? .closedWithoutResponse))
    }

    /// Continues a transfer that waited for the reader of its body.
    ///
    /// - Returns: The error that ends it, if libcurl had more of the response and it was rejected, or `nil`.
    func resume() -> NetworkError? {
        guard reception.pointee.isPaused, let handle else { return nil }
        reception.pointee.isPaused = false
        reception.pointee.lastActivity = handle.now
        return handle.resume().map { CurlFailure.error($0, of: handle, self) }
    }

    /// Ends the exchange: libcurl has ended the transfer with a code, or it was removed.
    func end(_ result: Result<Void, any Error>) {
        guard !hasEnded else { return }
        hasEnded = true
        reception.pointee.times.finishedMoment = .now
        let failure = self.failure(of: result)
        if let stream = reception.pointee.stream {
            stream.finish(throwing: failure)
        } else if hasHeader, let failure = failure as? NetworkError, failure.reason.isOfContent {
            let body = ResponseBody(reception.pointee.body, failing: failure, upTo: options.maximumBodySize)
            outcome.deliver(.success(response(body)))
        } else if let failure {
            outcome.deliver(.failure(failure))
        } else {
            outcome.deliver(.success(response(ResponseBody(reception.pointee.body))))
        }
        // The reader of the body and the stream may keep references to what ends with the exchange.
        (reception.pointee.reader, reception.pointee.stream, reception.pointee.decoder, handle) = (nil, nil, nil, nil)
        reception.pointee.body = Data()
    }

    /// Whether a callback has ended the exchange.
    var hasFailed: Bool { reception.pointee.failure != nil }

    /// Whether a final header section has arrived.
    var hasHeader: Bool { reception.pointee.headerSection.isFinal }

    /// Whether the end of the content is marked, other than by the end of the connection.
    var marksEnd: Bool { reception.pointee.headerSection.marksEnd }

    // MARK: Within

    private func failure(of result: Result<Void, any Error>) -> (any Error)? {
        if let failure = reception.pointee.failure { return failure }
        if case .failure(let error) = result { return error }
        // libcurl reports a header section that ends early as success.
        guard hasHeader else { return NetworkError(.closedWithoutResponse) }
        if reception.pointee.stream != nil { return nil }
        return reception.pointee.decoder?.failure(marksEnd: reception.pointee.headerSection.marksEnd)
    }

    /// Ends the transfer for another reason than libcurl's; returns `false`.
    private func fail(_ error: any Error) -> Bool {
        reception.pointee.failure = reception.pointee.failure ?? error
        return false
    }

    /// Checks at its first byte that the body may be read.
    private func beginBody() throws(NetworkError) {
        let section = reception.pointee.headerSection
        guard section.codings.isEmpty else {
            if reception.pointee.stream == nil {
                let limits = BodyLimits(options)
                reception.pointee.decoder = try ContentDecoder(section.codings, limits, isOfError: section.isOfError)
            }
            return
        }
        if !section.isOfError { try checkLength() }
        let isSmall = section.contentLength.map { $0 <= 1 << 20 } ?? false
        if isSmall, reception.pointee.stream == nil {
            reception.pointee.body.reserveCapacity(Int(section.contentLength ?? 0))
        }
    }

    /// Checks the declared length of a body without a coding.
    private func checkLength() throws(NetworkError) {
        guard let length = reception.pointee.headerSection.contentLength, length > Int64(options.maximumBodySize) else {
            return
        }
        throw NetworkError(.bodyTooLarge(limit: options.maximumBodySize))
    }

    /// Decodes bytes and keeps them.
    private func collect(_ bytes: UnsafeRawBufferPointer) throws {
        let limits = BodyLimits(options)
        guard let decoder = reception.pointee.decoder else {
            // Before the check, because an error has the beginning of its response.
            reception.pointee.body.append(contentsOf: bytes)
            try limits.check(reception.pointee.body.count, received: nil)
            if reception.pointee.body.count >= NetworkError.maximumBodyByteCount { try checkLength() }
            return
        }
        decoder.feed(Data(bytes))
        while true {
            guard let scratch = handle?.transfers.scratch else { return }
            let count = try decoder.read(into: scratch)
            guard count > 0 else { return }
            reception.pointee.body.append(contentsOf: scratch[..<count])
            try limits.check(reception.pointee.body.count, received: reception.pointee.receivedByteCount)
        }
    }

    private func noteIfAnswered() { if isAnswered { handle?.transfers.noteIdleLimit(of: self) } }

    private func pause() {
        reception.pointee.isPaused = true
        handle?.pause()
    }

    /// Returns the header section to the caller, with a body that is still being received.
    private func startStreaming() {
        let stream = CurlBody(
            beginning: reception.pointee.body,
            decoder: reception.pointee.decoder,
            codings: reception.pointee.headerSection.codings,
            marksEnd: reception.pointee.headerSection.marksEnd,
            isOfError: reception.pointee.headerSection.isOfError,
            receivedByteCount: reception.pointee.receivedByteCount,
            limits: BodyLimits(options),
            onResume: { [loop, weak self] in if let self { loop.submit(.resume(self)) } },
            onCancel: { [loop, weak self] in if let self { loop.submit(.stop(self)) } }
        )
        (reception.pointee.decoder, reception.pointee.body, reception.pointee.stream) = (nil, Data(), stream)
        let response = response(ResponseBody(chunks: CurlBodyReader(stream)))
        outcome.deliver(.success(response))
    }

    private func response(_ body: ResponseBody) -> TransportResponse {
        TransportResponse(
            statusCode: reception.pointee.headerSection.statusCode,
            headers: reception.pointee.headerSection.headers,
            body: body,
            timings: reception.pointee.times,
            connection: handle?.connectionMetrics
        )
    }
}

extension String {
    /// The text of a URL up to its path.
    fileprivate var prefixThroughAuthority: String {
        var text = self
        return text.withUTF8 { bytes in
            var slashCount = 0
            let end = bytes.firstIndex { byte in
                if byte == UInt8(ascii: "/") { slashCount += 1 }
                return slashCount == 3 || byte == UInt8(ascii: "?")
            }
            return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
        }
    }
}

extension OutgoingRequest {
    /// Whether there is a body, which may be empty if its length is not known.
    var hasBody: Bool { body.byteCount != 0 }
}
#endif
