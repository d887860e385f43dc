/// A type that decides whether a send may go to the network, and optionally whether it may use the cache.
///
/// A gate checks conditions such as "is there a network?" or "is the user logged in?".
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
/// A fresh cached response needs no gate unless ``guardsCache`` is `true`. A rejection counts as a failure of the network:
/// ``CachePolicy/networkElseCache(maxStale:)`` falls back to a stale response.
///
/// A gate that rejects sends because of reachability also rejects sends that would succeed; prefer to try the network.
public protocol SendGate: Sendable {
    /// Returns to admit a send, or throws to reject it.
    ///
    /// It may wait before that. The wait counts against the deadline, and ends when the send is cancelled.
    ///
    /// - Parameter context: The send. Its ``RequestContext/url`` is final except for adapters.
    /// - Throws: The reason for the rejection, which reaches the caller unchanged; nothing is sent.
    func admit(_ context: RequestContext) async throws

    /// A Boolean value that indicates whether the gate is also called before the cache is read, so that no cached response is
    /// used without it. The default is `false`.
    var guardsCache: Bool { get }
}

extension SendGate {
    /// Returns `false`, which is the default: a fresh cached response needs no gate.
    public var guardsCache: Bool { false }
}

/// A gate's error, wrapped until the cache has tried to supply a stale response.
struct GateRejection: Error {
    let error: any Error
}
