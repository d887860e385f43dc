/// How long and how large a send may become.
///
/// Each `nil` inherits: request over service over config over library.
///
/// Spelling in a request: `var limits: Limits { Limits(timeout: .seconds(5), deadline: .seconds(30)) }`.
public struct Limits: Sendable, Hashable {
    /// The longest silence within one attempt: nothing sent, nothing received.
    ///
    /// The library's own: 60 seconds. Today ``URLSessionTransport`` rounds it up to whole seconds, 1 at least.
    public var timeout: Duration?

    /// The time for the whole send, from its start to its model: waiting, attempts, pauses, body and formatting.
    ///
    /// The library's own: none. Still to come: today nothing ends a send at its deadline.
    public var deadline: Duration?

    /// The most bytes a body held in memory may have, after content decoding.
    ///
    /// The library's own: 64 MiB.
    public var maximumBodySize: Int?

    /// The time that must lie between two sends of the same identity; the first wins.
    ///
    /// The library's own: none. Still to come: today nothing is held back.
    public var minimumInterval: Duration?

    /// Takes limits; what is left out inherits.
    ///
    /// - Parameters:
    ///   - timeout: The longest silence within one attempt.
    ///   - deadline: The time for the whole send.
    ///   - maximumBodySize: The most bytes of a body, after content decoding.
    ///   - minimumInterval: The time between two sends of the same identity.
    public init(
        timeout: Duration? = nil,
        deadline: Duration? = nil,
        maximumBodySize: Int? = nil,
        minimumInterval: Duration? = nil
    ) {
        self.timeout = timeout
        self.deadline = deadline
        self.maximumBodySize = maximumBodySize
        self.minimumInterval = minimumInterval
    }

    /// What holds when nobody says anything.
    public static let library = Limits(timeout: .seconds(60), maximumBodySize: 64 << 20)

    /// Returns these limits with the gaps filled from others.
    func inheriting(_ other: Limits) -> Limits {
        Limits(
            timeout: timeout ?? other.timeout,
            deadline: deadline ?? other.deadline,
            maximumBodySize: maximumBodySize ?? other.maximumBodySize,
            minimumInterval: minimumInterval ?? other.minimumInterval
        )
    }
}
