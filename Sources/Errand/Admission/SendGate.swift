/// Decides whether a send may go to the network, and if it asks for that, whether it may use the cache.
///
/// A gate answers questions such as "is there a network?" or "is the user logged in?".
///
/// ```swift
/// struct LoggedIn: SendGate {
///     func admit(_ context: RequestContext) async throws {
///         guard session.credential != nil || context.tag == "public" else { throw NotLoggedIn() }
///     }
///     var guardsCache: Bool { true }
/// }
/// config.sendGates.append(LoggedIn())
/// ```
///
/// The config's gates are called in their order, then the service's, once for each send and not for its further attempts.
/// A fresh cached response needs no gate unless ``guardsCache`` is `true`. A refusal counts as a failure of the network:
/// ``CachePolicy/networkElseCache(maxStale:)`` falls back to a stale response.
///
/// A gate that refuses because of reachability also refuses what would have got through; prefer to let the network decide.
public protocol SendGate: Sendable {
    /// Returns to let a send go on; it may wait first, which counts against the deadline and ends when the send is
    /// cancelled.
    ///
    /// - Parameter context: Which send it is; its ``RequestContext/url`` is final but for adapters.
    /// - Throws: Why not, which reaches the caller unchanged; nothing is sent.
    func admit(_ context: RequestContext) async throws

    /// A Boolean value that indicates whether the gate stands before the cache too, so that no cached response is used
    /// without its permission. The default is `false`.
    var guardsCache: Bool { get }
}

extension SendGate {
    /// The default: `false`, a fresh cached response needs no permission.
    public var guardsCache: Bool { false }
}

/// What a gate threw, until the cache had its chance to supply a stale response.
struct GateRefusal: Error {
    let error: any Error
}
