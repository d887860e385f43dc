/// How long and how large a send may become.
///
/// Each `nil` inherits: request over service over config over library.
///
/// Spelling in a request: `var limits: Limits { Limits(timeout: .seconds(5), deadline: .seconds(30)) }`.
public struct Limits: Sendable, Hashable {
    /// The longest silence within one attempt: nothing sent, nothing received.
    ///
    /// The library's own: 60 seconds.
    public var timeout: Duration?

    /// The time for the whole send, from its start to its model: waiting, attempts, pauses, body and formatting.
    ///
    /// The library's own: none.
    public var deadline: Duration?

    /// The most bytes a body held in memory may have, after content decoding.
    ///
    /// The library's own: 64 MiB.
    public var maximumBodySize: Int?

    /// The most bytes the fields of a head may have, names and values together.
    ///
    /// The library's own: 300 KiB, which is also the most that the system's libcurl takes.
    public var maximumHeadSize: Int?

    /// How many times larger than its `Content-Length` a body may become by content decoding.
    ///
    /// Looked at once it has passed 1 MiB. The library's own: 200.
    public var maximumExpansion: Int?

    /// The time that must lie between two equal sends, by ``Request/duplicateKey``; the first wins.
    ///
    /// A later one fails with ``NetworkError/Reason/tooSoon(retryAfter:)``, whatever became of the first; one that joins
    /// another by ``DuplicatePolicy/share`` does not. The library's own: none.
    public var minimumInterval: Duration?

    /// Takes limits; each one that is left out inherits.
    public init(
        timeout: Duration? = nil,
        deadline: Duration? = nil,
        maximumBodySize: Int? = nil,
        maximumHeadSize: Int? = nil,
        maximumExpansion: Int? = nil,
        minimumInterval: Duration? = nil
    ) {
        self.timeout = timeout
        self.deadline = deadline
        self.maximumBodySize = maximumBodySize
        self.maximumHeadSize = maximumHeadSize
        self.maximumExpansion = maximumExpansion
        self.minimumInterval = minimumInterval
    }

    /// What holds when nobody says anything.
    public static let library = Limits(
        timeout: .seconds(60),
        maximumBodySize: 64 << 20,
        maximumHeadSize: 300 << 10,
        maximumExpansion: 200
    )
}
