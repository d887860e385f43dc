internal import Foundation

/// Sends that follow one another, such as in a poll, pages, a chain or a stream of events, or many sends with a limit on how
/// many run at once.
///
/// `cancelAll` ends it. One of a reader also ends with the latest of its sends, even if none is running.
final class SendSequence: Sendable {
    let group: SendGroup
    /// Whether it is the sequence of a reader, which requests one send after the other.
    let isOfReader: Bool
    private let end: (@Sendable () -> Void)?
    private let signal = StopSignal()
    private let sends: RunningSends

    /// The context of the latest send of a reader, or `nil` before the first.
    var latestContext: RequestContext? { identity.withLock { $0?.context } }

    /// The user and the origins of a reader's sends; `nil` before the first.
    private struct Identity {
        /// The context of the latest send.
        var context: RequestContext
        /// The origins that the first request was made for, before adapters and redirects.
        let origins: [Origin]
        /// The credential of the latest send of each service to a URL that it applies to.
        var credentials: [String: PinnedCredential] = [:]
        /// The interceptors with the identities of the users that they had first.
        var hooks: [ExchangeHook]
    }

    private let identity = Lock<Identity?>(nil)

    /// Creates a sequence.
    ///
    /// - Parameters:
    ///   - name: The name of the group that its sends are a part of.
    ///   - outer: The sequence that it is a part of, or `nil`.
    ///   - sends: The running sends of the agent.
    ///   - end: Ends a batch, a chain, or many requests with a result for each, and returns at once; `nil` for
    ///     the sequence of a reader.
    init(_ name: String, in outer: SendSequence? = nil, _ sends: RunningSends, _ end: (@Sendable () -> Void)? = nil) {
        group = SendGroup(name, in: outer?.group)
        (self.sends, self.end, isOfReader) = (sends, end, end == nil)
        sends.note(self)
    }

    deinit { sends.forget(ObjectIdentifier(self)) }

    /// Ends the sends that wait or would begin; returns at once.
    func stop() {
        end?()
        signal.stop()
    }

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
        guard isOfReader else { return }
        let old = identity.withLock { $0 }
        var new = old ?? Identity(context: prepared.context, origins: prepared.ownOrigins, hooks: [])
        new.context = prepared.context
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
        // Released outside of the lock: it may have the last reference to what is the user's.
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
