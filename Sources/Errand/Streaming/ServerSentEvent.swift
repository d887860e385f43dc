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
