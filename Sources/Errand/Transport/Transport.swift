public import Foundation

/// The seam where bytes leave the process.
///
/// A transport makes one exchange at a time: it follows no redirect, retries nothing, stores nothing, and reports what
/// went wrong as a ``NetworkError``, or `CancellationError` when its task was cancelled.
public protocol Transport: Sendable {
    /// Sends a request and returns its answer's final head, with a body that may still be on its way.
    ///
    /// - Parameters:
    ///   - request: Already validated; a body is opened anew by each call.
    ///   - options: The limits of this exchange.
    /// - Returns: The final head, never an interim one, and the body.
    /// - Throws: ``NetworkError`` or `CancellationError`.
    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse
}

/// A transport whose exchanges end at a word from outside, so that a send needs no task of its own for that.
protocol StoppableTransport: Transport {
    /// Does what ``Transport/send(_:options:)`` does, and ends the exchange, body included, as cancelled when it is
    /// told to; without a slot only the end of its task does that.
    func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse
}

/// The limits of one exchange.
public struct TransportOptions: Sendable, Hashable {
    /// The longest silence, nothing sent and nothing received, before the exchange fails as timed out.
    public var idleTimeout: Duration

    /// How many bytes of the body a transport may gather before it hands up the head.
    ///
    /// A body up to this size comes whole with its head, which spares a change of thread for each chunk. 0 hands up the
    /// head as soon as it is final.
    public var readAhead: Int

    /// The most decoded bytes of a body; one more fails the exchange with ``NetworkError/Reason/bodyTooLarge(limit:)``.
    public var maximumBodySize: Int

    /// The most bytes the fields of the final head may have, names and values together.
    public var maximumHeadSize: Int

    /// How many times larger than its `Content-Length` a body with a `Content-Encoding` may become, once it has passed
    /// ``expansionFloor``.
    public var maximumExpansion: Int

    #if canImport(FoundationNetworking)
    /// The most bytes of a head that the system lets through; whoever wants no less need not count them.
    static let greatestHeadSize = 300 << 10
    #else
    /// The system lets heads of any size through.
    static let greatestHeadSize = Int.max
    #endif

    /// The size up to which a decoded body is never held against its `Content-Length`: 1 MiB.
    public static let expansionFloor = 1 << 20

    /// Options; the defaults are those of the library's limits.
    public init(
        idleTimeout: Duration = .seconds(60),
        readAhead: Int = .max,
        maximumBodySize: Int = 64 << 20,
        maximumHeadSize: Int = 300 << 10,
        maximumExpansion: Int = 200
    ) {
        self.idleTimeout = idleTimeout
        self.readAhead = readAhead
        self.maximumBodySize = maximumBodySize
        self.maximumHeadSize = maximumHeadSize
        self.maximumExpansion = maximumExpansion
    }
}

/// The answer to one exchange.
public struct TransportResponse: Sendable {
    /// The status of the final head.
    public var statusCode: Int
    /// The fields of the final head; lines of one name may be joined by `", "`.
    public var headers: HTTPHeaders
    /// The bytes that follow it, after content decoding.
    public var body: ResponseBody
    /// When things happened, as far as the head: a body still on its way has not finished.
    public var timings: TransportTimings

    /// An answer made by hand, for transports of your own and for tests.
    public init(
        statusCode: Int,
        headers: HTTPHeaders = [:],
        body: ResponseBody = ResponseBody(Data()),
        timings: TransportTimings = TransportTimings()
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.timings = timings
    }
}

/// When things happened in one exchange; each `nil` did not happen, or the transport cannot tell.
public struct TransportTimings: Sendable, Hashable {
    /// The request was handed to the system.
    public var started: ContinuousClock.Instant?
    /// The final head arrived.
    public var headReceived: ContinuousClock.Instant?
    /// The last byte of the body arrived.
    public var finished: ContinuousClock.Instant?

    /// Takes the moments that the transport can tell.
    public init(
        started: ContinuousClock.Instant? = nil,
        headReceived: ContinuousClock.Instant? = nil,
        finished: ContinuousClock.Instant? = nil
    ) {
        self.started = started
        self.headReceived = headReceived
        self.finished = finished
    }
}
