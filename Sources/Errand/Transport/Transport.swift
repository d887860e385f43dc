public import Foundation

/// A type that sends one request and returns its response: the seam where bytes leave the process.
///
/// A transport makes one exchange at a time: it follows no redirect, retries nothing and stores nothing. It reports a failure
/// as a ``NetworkError``, or as `CancellationError` if its task was cancelled.
public protocol Transport: Sendable {
    /// Sends a request and returns the response's final header section, with a body that may still be in transit.
    ///
    /// - Parameters:
    ///   - request: The validated request. Each call opens its body anew.
    ///   - options: The limits of this exchange.
    /// - Returns: The final header section, never an interim one, and the body. If the content cannot be decoded or exceeds a
    ///   limit, reading the body fails, and not this function, so that the status of an error response is known.
    /// - Throws: ``NetworkError`` or `CancellationError`.
    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse

    /// What determines the responses besides the requests, such as a client certificate or a Unix socket. The default
    /// is empty: nothing does.
    ///
    /// A stored response and an unfinished download are used only with the identity with which they were received. It
    /// is read once, when an agent is created, and must be the same in every process. Only a digest of it is kept.
    var identity: String { get }
}

extension Transport {
    /// An empty text: the requests alone determine the responses.
    public var identity: String { "" }
}

/// A transport of the library, whose exchanges any thread can end, so that a send needs no child task for that.
package protocol StoppableTransport: Transport {
    /// Does what ``Transport/send(_:options:)`` does, and ends the exchange with its body as cancelled when the slot is
    /// stopped.
    ///
    /// - Parameters:
    ///   - request: The validated request. Each call opens its body anew.
    ///   - options: The limits of this exchange.
    ///   - stop: The place for the exchange, filled with it before it begins; or `nil` if only the cancellation of the
    ///     task ends it.
    /// - Returns: The final header section, never an interim one, and the body.
    /// - Throws: ``NetworkError`` or `CancellationError`.
    func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse

    /// Returns all header fields that are sent for a request, except those for a proxy, or `nil` if the system adds some.
    func sentFields(of request: OutgoingRequest) -> HTTPHeaders?
}

extension StoppableTransport {
    package func sentFields(of request: OutgoingRequest) -> HTTPHeaders? { nil }
}

/// A transport that reads the request of each send as its caller made it, such as one that responds in place of a server.
package protocol RequestReadingTransport: Transport {}

/// A note for a transport about the send; all are equal, because equal options have equal effects.
struct TransportNote: Sendable, Hashable {
    var value: (any AnyObject & Sendable)?

    static func == (one: TransportNote, other: TransportNote) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// A transport of the user's own, which the cancellation of the send's child task ends.
struct ForeignTransport: StoppableTransport {
    let transport: any Transport

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try await transport.send(request, options: options)
    }

    func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse {
        try await transport.send(request, options: options)
    }
}

/// The limits of one exchange.
public struct TransportOptions: Sendable, Hashable {
    /// The maximum time without sending or receiving data before the exchange fails with an idle timeout.
    ///
    /// The default is 60 seconds.
    public var idleTimeout: Duration

    /// The number of bytes of the body that a transport may collect before it returns the header section.
    ///
    /// A body up to this size is returned with its header section, which avoids a thread hop for each chunk. 0 returns the
    /// header section as soon as it is final. The default is unlimited.
    public var readAhead: Int

    /// The maximum number of decoded bytes of a body.
    ///
    /// If there are more, the body fails with ``NetworkError/Reason/bodyTooLarge(limit:)``. The default is 64 MiB.
    public var maximumBodySize: Int

    /// The maximum number of bytes of the final header section's names and values together.
    ///
    /// The default is 300 KiB.
    public var maximumHeaderSize: Int

    /// The ratio of decoded size to `Content-Length` at which a body with a `Content-Encoding` fails, if it is
    /// larger than ``expansionFloor``.
    ///
    /// The default is 200.
    public var maximumExpansion: Int

    /// Whether the cellular network may be used, on platforms that have one; see ``Request/allowsCellularAccess``.
    ///
    /// The default is `true`.
    public var allowsCellularAccess: Bool

    /// Whether the body may be read over a long time: the exchange has a connection of its own, which does not count among
    /// those to its host, and the header section is returned before the first byte of the body if possible.
    ///
    /// The default is `false`.
    public var isStream = false

    /// The note for a ``RequestReadingTransport``.
    var note = TransportNote()

    #if canImport(FoundationNetworking)
    /// The maximum size of a header section that the system accepts; a higher limit needs no check.
    static let greatestHeaderSectionSize = 300 << 10
    #else
    /// The system accepts header sections of any size.
    static let greatestHeaderSectionSize = Int.max
    #endif

    /// The size up to which a decoded body is never compared with its `Content-Length`: 1 MiB.
    public static let expansionFloor = 1 << 20

    /// The time for which a complete response waits while nothing more of its request can be sent.
    package static let patienceAfterResponse = Duration.seconds(1)

    /// Creates options.
    ///
    /// The defaults are the library's limits.
    public init(
        idleTimeout: Duration = .seconds(60),
        readAhead: Int = .max,
        maximumBodySize: Int = 64 << 20,
        maximumHeaderSize: Int = 300 << 10,
        maximumExpansion: Int = 200,
        allowsCellularAccess: Bool = true
    ) {
        self.idleTimeout = idleTimeout
        self.readAhead = readAhead
        self.maximumBodySize = maximumBodySize
        self.maximumHeaderSize = maximumHeaderSize
        self.maximumExpansion = maximumExpansion
        self.allowsCellularAccess = allowsCellularAccess
    }
}

/// The response of one exchange.
public struct TransportResponse: Sendable {
    /// The status of the final header section.
    public var statusCode: Int
    /// The header fields of the final header section.
    ///
    /// Lines of one name may be joined by `", "`.
    public var headers: HTTPHeaders
    /// The body, after content decoding.
    public var body: ResponseBody
    /// The times of the exchange until the header section; the end of a body that is still being received is not known.
    public var timings: TransportTimings
    /// The connection of the exchange, or `nil` if the transport does not know it.
    public var connection: ConnectionMetrics? {
        get { sharedConnection?.value }
        set { sharedConnection = newValue.map(Shared.init) }
    }

    /// Behind one reference, because responses are copied often.
    var sharedConnection: Shared<ConnectionMetrics>?

    /// Creates a response, for a custom transport or a test.
    public init(
        statusCode: Int,
        headers: HTTPHeaders = [:],
        body: ResponseBody = ResponseBody(Data()),
        timings: TransportTimings = TransportTimings(),
        connection: ConnectionMetrics? = nil
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.timings = timings
        self.connection = connection
    }
}

/// The times of events in one exchange.
///
/// `nil` if an event did not occur or the transport does not report it.
public struct TransportTimings: Sendable, Hashable {
    /// The time when the request was passed to the system.
    public var started: ContinuousClock.Instant? {
        get { startedMoment?.instant }
        set { startedMoment = newValue.map(Moment.init) }
    }
    /// The time when the final header section arrived.
    public var headersReceived: ContinuousClock.Instant? {
        get { headersReceivedMoment?.instant }
        set { headersReceivedMoment = newValue.map(Moment.init) }
    }
    /// The time when the last byte of the body arrived.
    public var finished: ContinuousClock.Instant? {
        get { finishedMoment?.instant }
        set { finishedMoment = newValue.map(Moment.init) }
    }

    package var startedMoment: Moment?
    package var headersReceivedMoment: Moment?
    package var finishedMoment: Moment?

    /// Creates timings from the times that the transport reports.
    public init(
        started: ContinuousClock.Instant? = nil,
        headersReceived: ContinuousClock.Instant? = nil,
        finished: ContinuousClock.Instant? = nil
    ) {
        startedMoment = started.map(Moment.init)
        headersReceivedMoment = headersReceived.map(Moment.init)
        finishedMoment = finished.map(Moment.init)
    }
}
