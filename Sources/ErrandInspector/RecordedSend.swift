public import Errand
public import Foundation

/// A send as a ``FlightRecorder`` keeps it: without a value that is not listed as harmless.
public struct RecordedSend: Sendable, Identifiable {
    /// How a send has ended.
    public enum Outcome: Sendable, Hashable {
        /// It runs, or the recorder was paused when it ended.
        case running
        /// The model was made; the status, and where the response came from: `network`, `cache`, `revalidated` or `stale`.
        case success(statusCode: Int, source: String)
        /// It failed, with the kind and the description of a `NetworkError`, or the type of another error.
        case failure(kind: String, description: String)
        /// It was cancelled.
        case cancelled
    }

    /// A batch, chain or sequence, with its number in this process.
    public struct Group: Sendable, Hashable {
        /// The type, such as `BatchRequest`.
        public let name: String
        /// The number, unique among the groups of this process.
        public let id: Int
    }

    /// What happened between the exchanges, as an event of a log, with the time since the start.
    public struct Note: Sendable, Hashable {
        /// The time since the start of the send.
        public internal(set) var offset: Duration
        /// The name of the event, such as `willRetry`.
        public let event: String
        /// The event in words.
        public let text: String
        /// The time that a `didWait` has waited, or a `willRetry` pauses.
        public let duration: Duration?

        /// About the bytes of memory that it needs.
        fileprivate var cost: Int { 96 + text.utf8.count }
    }

    /// The number of the send, as in a log.
    public let id: Int
    /// The type of the request.
    public let typeName: String
    /// The method.
    public let method: String
    /// The identifier of the service.
    public let serviceID: String
    /// The tag, or an empty string.
    public let tag: String
    /// The batches, chains and sequences that the send is a part of, from the outermost.
    public let groups: [Group]
    /// The time of the start, by the system's clock.
    public let start: Date
    /// The URL as logs show it, of the first exchange; `nil` before it has ended.
    public internal(set) var url: String?
    /// The time from the start to the end, or until now while it runs.
    public internal(set) var duration = Duration.zero
    /// How it has ended.
    public internal(set) var outcome = Outcome.running
    /// The exchanges, in the order in which they have ended; none if the response was stored.
    public private(set) var exchanges: [RecordedExchange] = []
    /// The events between them.
    public private(set) var notes: [Note] = []
    /// About the bytes of memory that it needs.
    private(set) var cost = 512

    /// Creates the record of a send that starts.
    init(_ context: RequestContext, start: Date) {
        (id, typeName, method, serviceID) = (context.id, context.typeName, context.method.rawValue, context.serviceID)
        (tag, self.start) = (context.tag, start)
        var (groups, group): ([Group], SendGroup?) = ([], context.group)
        while let one = group {
            groups.insert(Group(name: one.name, id: one.id), at: 0)
            group = one.outer
        }
        self.groups = groups
    }

    /// Whether it has failed.
    public var isFailure: Bool { if case .failure = outcome { true } else { false } }

    /// The number of attempts that were repetitions.
    public var retryCount: Int { max(0, (exchanges.map(\.attempt).max() ?? 1) - 1) }

    mutating func add(_ exchange: RecordedExchange) {
        exchanges.append(exchange)
        if url == nil || exchanges.count == 1 { url = exchange.url }
        cost += exchange.cost
    }

    mutating func add(_ note: Note) {
        notes.append(note)
        cost += note.cost
    }

    /// Drops the oldest exchanges and notes of a send that needs more bytes, but not the last ones.
    mutating func shrink(to limit: Int) {
        while cost > limit, exchanges.count > 1 { cost -= exchanges.removeFirst().cost }
        while cost > limit, notes.count > 1 { cost -= notes.removeFirst().cost }
    }
}

/// An exchange of a ``RecordedSend``.
public struct RecordedExchange: Sendable {
    /// A header field, masked unless its name is listed.
    public struct Field: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value, or a mask.
        public let value: String
    }

    /// The number of the attempt, from 1.
    public let attempt: Int
    /// The reason for the exchange.
    public let purpose: Exchange.Purpose
    /// The method.
    public let method: String
    /// The URL, as logs show it.
    public let url: String
    /// The header fields of the request.
    public let requestHeaders: [Field]
    /// The body of the request, masked, or its size in parentheses; `nil` if there is none.
    public let requestBody: String?
    /// The number of bytes of the body of the request, or `nil` if it is not known.
    public let requestByteCount: Int64?
    /// The status, or `nil` if there was no response.
    public let statusCode: Int?
    /// The header fields of the response.
    public let responseHeaders: [Field]
    /// The body of the response, masked, or its size in parentheses; `nil` if there is none.
    public let responseBody: String?
    /// The number of bytes of the body of the response, or `nil` if it is not known.
    public let responseByteCount: Int64?
    /// The time when the request was handed to the transport.
    public let start: Date
    /// The time from then until its end.
    public let duration: Duration
    /// The phases of this time that the transport knows.
    public let phases: Exchange.Phases
    /// The protocol of the connection, such as `h2`, or `nil` if it is not known.
    public let protocolName: String?
    /// The address of the server, or `nil` if it is not known.
    public let remoteAddress: String?
    /// Whether the connection was used before, or `nil` if it is not known.
    public let isReused: Bool?
    /// The error, if there is no complete response.
    public let failure: String?

    init(_ exchange: Exchange, upTo limit: Int, hiding secrets: Secrets) {
        func fields(_ headers: HTTPHeaders) -> [Field] {
            Array(headers).map { field in
                let value = secrets.isShown(field.name) ? field.value.oneLine : Secrets.mask
                return Field(name: field.name.oneLine, value: value)
            }
        }
        func text(_ body: Exchange.Body, _ headers: HTTPHeaders, isError: Bool = false) -> String? {
            guard let text = secrets.shown(body, headers, isError: isError).map({ $0.string ?? $0.description }) else {
                return nil
            }
            // A mask may be longer than what it hides.
            return text.utf8.count > 8 * max(64, limit) ? "(\(body.byteCount ?? 0) bytes)" : text
        }
        (attempt, purpose, method) = (exchange.attempt, exchange.purpose, exchange.method.rawValue)
        url = exchange.shownURL(by: secrets)
        (requestHeaders, responseHeaders) = (fields(exchange.requestHeaders), fields(exchange.responseHeaders))
        requestBody = text(exchange.requestBody, exchange.requestHeaders)
        responseBody = text(
            exchange.responseBody,
            exchange.responseHeaders,
            isError: (exchange.statusCode ?? 0) >= 400
        )
        requestByteCount = exchange.requestBody.byteCount
        (responseByteCount, statusCode) = (exchange.responseBody.byteCount, exchange.statusCode)
        (start, duration, phases) = (exchange.start, exchange.duration, exchange.phases)
        (protocolName, remoteAddress) = (exchange.connection?.protocolName, exchange.connection?.remoteAddress)
        (isReused, failure) = (exchange.connection?.isReused, exchange.failure?.shownDescription)
    }

    var cost: Int {
        let fields = (requestHeaders + responseHeaders).reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
        return 512 + url.utf8.count + fields + (requestBody?.utf8.count ?? 0) + (responseBody?.utf8.count ?? 0)
    }
}
