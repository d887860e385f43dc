internal import Foundation
internal import Synchronization

/// Sends that follow one another, such as in a poll, pages, a chain or a stream of events, or many sends with a limit on how
/// many run at once.
///
/// If none of them is running, `cancelAll` ends it by the context of the last one. A send that has not begun has no context.
final class SendSequence: Sendable {
    /// Which sends `cancelAll` ends the sequence with, besides ending it between two of them.
    enum End: Sendable {
        /// Any: the reader of the sequence may already be past a send that has not ended yet.
        case withItsSend
        /// None, because it may continue after a send that was cancelled.
        case onlyBetween
        /// All, but not some: each has a result of its own, or none would follow, and a send that has not begun has no context
        /// by which it could be chosen.
        case withAllSends
    }

    let end: End
    /// The sequence that this one is a part of.
    let outer: SendSequence?
    /// Whether its sends are counted: `cancelAll` of some ends it, or one that it is a part of.
    let countsSends: Bool
    /// Whether a sequence that counts no sends is among those that `cancelAll` ends; belongs to ``RunningSends``.
    let isNoted = Atomic(false)
    /// Ends the sends that wait or would begin; returns at once.
    let stop: @Sendable () -> Void
    private let signal: StopSignal
    private let sends: RunningSends

    /// The user and the origins of a reader's sends; `nil` before the first.
    private struct Identity {
        /// The origins that the first request was made for, before adapters and redirects.
        let origins: [Origin]
        /// The credential of the latest send of each service to a URL that it applies to.
        var credentials: [String: PinnedCredential] = [:]
        /// The interceptors with the identities of the users that they had first.
        var hooks: [ExchangeHook]
    }

    private let identity = Lock<Identity?>(nil)

    /// Creates the sequence of a reader, which requests one send after the other.
    init(_ sends: RunningSends) {
        let signal = StopSignal()
        (self.sends, self.signal, outer, end) = (sends, signal, nil, .withItsSend)
        countsSends = true
        stop = { signal.stop() }
    }

    /// Creates the sequence of a batch, a chain, or many requests.
    ///
    /// - Parameters:
    ///   - sends: The running sends of the agent.
    ///   - outer: The sequence that it is a part of.
    ///   - end: Which sends it ends with.
    ///   - stop: Ends it; returns at once.
    init(_ sends: RunningSends, within outer: SendSequence?, end: End, stop: @escaping @Sendable () -> Void) {
        let signal = StopSignal()
        (self.sends, self.signal, self.outer, self.end) = (sends, signal, outer, end)
        countsSends = end != .withAllSends || outer?.countsSends == true
        self.stop = {
            stop()
            signal.stop()
        }
    }

    deinit { sends.forget(ObjectIdentifier(self)) }

    /// Whether the sequence was ended.
    var mustEnd: Bool { signal.mustEnd }

    /// - Throws: `CancellationError` if the sequence was ended, or its task cancelled.
    func check() throws { try signal.check() }

    /// Checks that a send of a reader is for the user of the earlier ones, and records its own.
    ///
    /// The steps of a chain, and the requests of a batch, each have a user of their own.
    ///
    /// - Throws: ``NetworkError/Reason/credentialChanged``.
    func check(_ prepared: PreparedRequest) throws {
        guard end == .withItsSend else { return }
        let old = identity.withLock { $0 }
        var new = old ?? Identity(origins: prepared.ownOrigins, hooks: [])
        if let credential = prepared.pinnedCredential, credential.session.appliesTo(prepared.outgoing.url) {
            let service = prepared.settings.request.service.id
            // A service may get another session, and several services may have one session.
            let earlier = new.credentials.filter { $0 == service || $1.session === credential.session }.values
            guard earlier.allSatisfy(credential.continues) else { throw NetworkError(.credentialChanged) }
            new.credentials[service] = credential
        }
        if !prepared.outgoing.headers.contains("Cookie") {
            for hook in prepared.exchangeInterceptors {
                guard let earlier = new.hooks.first(where: hook.isSame) else {
                    if hook.identity != nil { new.hooks.append(hook) }
                    continue
                }
                guard earlier.isCurrent else { throw NetworkError(.credentialChanged) }
            }
        }
        identity.withLock { $0 = new }
        // Released outside of the lock: it may be the last reference to an authenticator of the user.
        withExtendedLifetime(old) {}
    }

    /// Whether a URL is of an origin that the first request was made for, and may receive the request's own credentials.
    func isOwnOrigin(of url: URL) -> Bool {
        guard let parts = try? URLParts(absolute: url.absoluteString) else { return false }  // An invalid URL has none.
        return identity.withLock { $0?.origins.contains(parts.origin) == true }
    }

    /// Waits until a time on a timeline.
    ///
    /// - Throws: `CancellationError` if the sequence was ended, or its task cancelled.
    func wait(until time: Duration, on timeline: Timeline) async throws {
        try await signal.run { try await timeline.sleep(time) }
    }
}
