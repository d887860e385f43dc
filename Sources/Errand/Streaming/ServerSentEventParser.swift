internal import Foundation

/// An event that a server sent in a stream of the type `text/event-stream`; see `events(for:)` of ``Agent``.
///
/// Source: HTML standard, section 9.2, server-sent events.
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event, which is `message` if the server sent none.
    public var event: String
    /// The data: the values of all `data` fields, joined by line feeds.
    public var data: String
    /// The last event ID, of this event or of one before it, or an empty string if there was none.
    public var id: String
    /// The reconnection time that was sent with this event, or `nil` if there was none.
    public var retry: Duration?
    /// The number of the connection on which the event was received, starting at 1.
    ///
    /// If it is greater than the number of the previous event, the stream has reconnected in between. A server that ignores
    /// `Last-Event-ID` then sends the earlier events again.
    public var connection: Int

    /// Creates an event, such as for a test.
    public init(
        event: String = "message",
        data: String,
        id: String = "",
        retry: Duration? = nil,
        connection: Int = 1
    ) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
        self.connection = connection
    }
}

/// Parses a stream of events; a pure value, which needs memory for one event and one chunk.
///
/// Source: HTML standard, section 9.2.6, interpreting an event stream.
struct ServerSentEventParser: Sendable {
    /// The maximum size of an event by default: 16 MiB.
    static let standardLimit = LineSplitter.standardLimit

    /// The maximum size of an ID in bytes.
    ///
    /// It is sent in a header field, so a longer one is ignored.
    static let maximumIDByteCount = 4 << 10

    /// The last event ID, even if its block had no data.
    private(set) var lastEventID: String
    /// The reconnection time that the server has set, or `nil` if it has set none.
    private(set) var reconnectionTime: Duration?

    private let limit: Int
    private var lines: LineSplitter
    /// The last event ID as of the next event.
    private var id: String
    private var event = ""
    /// The data with a line feed after each field, or `nil` if there was no field.
    private var data: String?
    private var retry: Duration?
    /// The number of bytes in the lines of the event so far.
    private var byteCount = 0

    /// Creates a parser of one response.
    ///
    /// - Parameters:
    ///   - lastEventID: The last event ID of the response before.
    ///   - limit: The maximum number of bytes of an event, and of a comment.
    init(lastEventID: String = "", limit: Int = Self.standardLimit) {
        self.lastEventID = lastEventID
        id = lastEventID
        self.limit = max(0, limit)
        lines = LineSplitter(at: .any, limit: limit)
    }

    /// A parser of the response after a reconnection: an incomplete event is dropped.
    var afterReconnection: ServerSentEventParser {
        var next = ServerSentEventParser(lastEventID: lastEventID, limit: limit)
        next.reconnectionTime = reconnectionTime
        return next
    }

    /// Whether there is data of an event that an empty line has not ended, so that the end of the stream would drop it.
    var isWithinEvent: Bool { data != nil || lines.pending.starts(with: "data".utf8) }

    /// Adds bytes, after ``next()`` has returned `nil`.
    mutating func append(_ bytes: Data) { lines.append(bytes) }

    /// Returns the next event, or `nil` if more bytes are needed.
    ///
    /// An event that the end of the stream interrupts is never returned.
    ///
    /// - Throws: ``NetworkError/Reason/tooLarge(_:)``.
    mutating func next() throws(NetworkError) -> ServerSentEvent? {
        while let line = try nextLine() {
            guard line.isEmpty else {
                try read(line)
                continue
            }
            if let event = dispatch() { return event }
        }
        return nil
    }

    private mutating func nextLine() throws(NetworkError) -> Data? {
        do {
            guard let line = try lines.next() else { return nil }
            // A byte order mark may precede the first line.
            return lines.count == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
        } catch {
            throw NetworkError(.eventTooLarge(limit: limit))
        }
    }

    /// Ends a block; returns its event unless it has no data.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer { (event, data, retry, byteCount) = ("", nil, nil, 0) }
        guard var data else { return nil }
        data.removeLast()
        return ServerSentEvent(event: event.isEmpty ? "message" : event, data: data, id: id, retry: retry)
    }

    private mutating func read(_ line: Data) throws(NetworkError) {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        if colon == line.startIndex { return }
        byteCount += line.count
        guard byteCount <= limit else { throw NetworkError(.eventTooLarge(limit: limit)) }
        var value = colon.map { line[($0 + 1)...] } ?? Data()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
        case "data":
            // In place, because there may be many lines.
            if data == nil { data = "" }
            data?.append(String(decoding: value, as: UTF8.self))
            data?.append("\n")
        case "event": event = String(decoding: value, as: UTF8.self)
        case "id":
            // Beyond the standard, which excludes NUL: it could not be sent in `Last-Event-ID`.
            let isSendable = value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            if isSendable, value.count <= Self.maximumIDByteCount { id = String(decoding: value, as: UTF8.self) }
        case "retry":
            let isNumber = !value.isEmpty && value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard isNumber else { break }
            // A number that overflows is the longest delay.
            let time = Int64(String(decoding: value, as: UTF8.self)).map {
                min($0, ReconnectionPolicy.longestMilliseconds)
            }
            retry = .milliseconds(time ?? ReconnectionPolicy.longestMilliseconds)
            reconnectionTime = retry
        default: break
        }
    }
}
