/// Lets sends go on or not, before anything else is done for them.
///
/// Is there a network, is somebody logged in?
///
/// ```swift
/// struct LoggedIn: SendGate {
///     func admit(_ context: RequestContext) async throws {
///         guard session.credential != nil || context.tag == "public" else { throw NotLoggedIn() }
///     }
/// }
/// config.sendGates.append(LoggedIn())
/// ```
///
/// The config's gates are asked in their order, then the service's; once for each send, before the cache, and not for
/// its further attempts. What the network says is better than any hint about it: a gate that refuses because of
/// reachability also refuses what would have got through.
public protocol SendGate: Sendable {
    /// Returns to let a send go on; it may wait first, which counts against the deadline and ends when the send is
    /// cancelled.
    ///
    /// - Parameter context: Which send it is; its ``RequestContext/url`` is final but for adapters.
    /// - Throws: Why not, which reaches the caller unchanged; nothing is sent.
    func admit(_ context: RequestContext) async throws
}
