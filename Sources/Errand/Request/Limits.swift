/// The limits of time and size of a send.
///
/// A limit of `nil` is inherited: request over service over config over library.
///
/// In a request, write `var limits: Limits { Limits(timeout: .seconds(5), deadline: .seconds(30)) }`.
public struct Limits: Sendable, Hashable {
    /// The maximum time within one attempt without sending or receiving data.
    ///
    /// The library default is 60 seconds.
    public var timeout: Duration?

    /// The maximum time of the complete send, from its start to its model: waiting, attempts, retry delays, body and
    /// formatting.
    ///
    /// The library default is none.
    public var deadline: Duration?

    /// The maximum number of bytes of a body in memory, after content decoding.
    ///
    /// A request's own limit is also the limit of its stream, or of the complete file of its download. A response that is rejected
    /// by its status keeps at most 64 KiB of a body that exceeds the limit, and not more than the limit.
    ///
    /// The library default is 64 MiB.
    public var maximumBodySize: Int?

    /// The maximum number of bytes of the names and values of a header section together.
    ///
    /// The library default is 300 KiB, which is also the maximum of the system's libcurl.
    public var maximumHeaderSize: Int?

    /// The ratio of a body's size after content decoding to its `Content-Length` at which the send fails.
    ///
    /// It is checked once the body exceeds 1 MiB. The library default is 200.
    public var maximumExpansion: Int?

    /// The minimum time between the starts of two equal sends, as determined by ``Request/duplicateKey``.
    ///
    /// A later send within this time fails with ``NetworkError/Reason/tooSoon(retryAfter:)``, whether or not the first
    /// succeeded. A send that joins another by ``DuplicatePolicy/share`` does not fail. The library default is none.
    public var minimumInterval: Duration?

    /// Creates limits; an omitted limit is inherited.
    public init(
        timeout: Duration? = nil,
        deadline: Duration? = nil,
        maximumBodySize: Int? = nil,
        maximumHeaderSize: Int? = nil,
        maximumExpansion: Int? = nil,
        minimumInterval: Duration? = nil
    ) {
        self.timeout = timeout
        self.deadline = deadline
        self.maximumBodySize = maximumBodySize
        self.maximumHeaderSize = maximumHeaderSize
        self.maximumExpansion = maximumExpansion
        self.minimumInterval = minimumInterval
    }

    /// The library defaults, used if request, service and config set no limit.
    public static let library = Limits(
        timeout: .seconds(60),
        maximumBodySize: 64 << 20,
        maximumHeaderSize: 300 << 10,
        maximumExpansion: 200
    )
}

extension Limits {
    /// Returns these limits, with another's in place of `nil`.
    func over(_ base: Limits) -> Limits {
        Limits(
            timeout: timeout ?? base.timeout,
            deadline: deadline ?? base.deadline,
            maximumBodySize: maximumBodySize ?? base.maximumBodySize,
            maximumHeaderSize: maximumHeaderSize ?? base.maximumHeaderSize,
            maximumExpansion: maximumExpansion ?? base.maximumExpansion,
            minimumInterval: minimumInterval ?? base.minimumInterval
        )
    }
}
