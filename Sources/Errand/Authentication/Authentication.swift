internal import Foundation
internal import Synchronization

/// The session whose credential the requests of a config or a service send.
///
/// A service's setting overrides the config's. A request, or a service under a config's session, opts out with an
/// ``Authorization`` of its own, including ``Authorization/anonymous``; a request also with an `Authorization` header field.
public struct Authentication: Sendable, Equatable {
    private enum Kind: Sendable {
        case inherited
        case anonymous
        case session(any CredentialHolder)
    }

    private let kind: Kind

    /// Uses the config's setting, then ``anonymous``.
    public static let inherited = Authentication(kind: .inherited)

    /// No credential of a session, whatever the config's setting is.
    public static let anonymous = Authentication(kind: .anonymous)

    init(_ session: any CredentialHolder) { kind = .session(session) }

    private init(kind: Kind) { self.kind = kind }

    /// Returns whether both refer to the same session.
    public static func == (one: Authentication, other: Authentication) -> Bool {
        switch (one.kind, other.kind) {
        case (.inherited, .inherited), (.anonymous, .anonymous): true
        case (.session(let one), .session(let other)): one === other
        default: false
        }
    }

    /// The session, or `nil` if there is none.
    var session: (any CredentialHolder)? { if case .session(let session) = kind { session } else { nil } }

    /// The type of the session, without its content.
    public var description: String {
        switch kind {
        case .inherited: "inherited"
        case .anonymous: "anonymous"
        case .session(let session): "\(type(of: session))"
        }
    }
}

/// An ``AuthenticationSession`` without its generic types.
protocol CredentialHolder: AnyObject, Sendable {
    /// The current credential, or `nil` when logged out.
    ///
    /// If the session obtains credentials, having none is a credential with an empty scope.
    var currentCredential: SessionCredential? { get }

    /// Whether an unauthorized response to a request without a credential starts a refresh.
    var obtainsCredentials: Bool { get }

    func appliesTo(_ url: URL) -> Bool
    func isUnauthorized(_ error: any Error, of response: RawResponse) -> Bool

    /// The reason why a send should wait before it is sent, or `nil`.
    func refreshReasonBeforeSending() -> RefreshReason?

    /// Whether ``wait(for:by:)`` would suspend.
    func wouldWait(for reason: RefreshReason) -> Bool

    /// Waits until there is a better credential, or none can be obtained. Starts a refresh if none is in progress.
    ///
    /// - Throws: The error of the refresh, or `CancellationError` if the waiting task is cancelled.
    func wait(for reason: RefreshReason, by client: any RefreshClient) async throws
}

/// The ``Agent`` that sends an ``Authenticator``'s requests during a refresh, without its type.
protocol RefreshClient: AnyObject, Sendable {}

/// A credential, ready to be added to requests.
struct SessionCredential: Sendable {
    let version: Int
    /// The credential's scope: its user.
    let scope: String
    let apply: @Sendable (inout OutgoingRequest, RequestContext) async throws -> Void
}

/// The credential of one send, which always belongs to the user for whom the send began.
///
/// The user is recorded when the request is prepared, or, while nobody is logged in, when the identity of the send is computed,
/// at the latest before its first attempt. If the user changed afterwards, one user's request would be sent for another, and
/// the response stored and shared under the wrong user.
final class PinnedCredential: Sendable {
    let session: any CredentialHolder
    let client: any RefreshClient
    private let pinned: Lock<Pinned>

    private struct Pinned {
        var scope: String?
        var hasLoggedIn = false
        /// Whether an attempt was sent, without a credential if the scope is empty.
        var isSent = false
    }

    init(session: any CredentialHolder, client: any RefreshClient) {
        (self.session, self.client) = (session, client)
        // While nobody is logged in, a gate may still log a user in.
        let scope = session.currentCredential?.scope
        pinned = Lock(Pinned(scope: scope?.isEmpty == true ? nil : scope))
    }

    /// Creates the credential of a send in the background for the same user, or for no user, even if somebody logs in.
    init(inBackground other: PinnedCredential) {
        (session, client) = (other.session, other.client)
        pinned = Lock(Pinned(scope: other.scope, isSent: true))
    }

    /// The scope of the send's credential; empty when logged out.
    var scope: String { pin(session.currentCredential?.scope ?? "") }

    /// Whether this credential has the same user as an earlier one; `true` if the earlier one was sent without a user.
    func continues(_ earlier: PinnedCredential) -> Bool {
        guard let scope = earlier.pinned.withLock({ $0.scope }), !scope.isEmpty else { return true }
        return scope == pinned.withLock { $0.scope }
    }

    /// Whether the send was identified without a credential, and was then sent with one: a gate or an adapter has logged a
    /// user in, or the session has obtained it.
    ///
    /// Its response belongs to another user than the identity.
    var hasLoggedIn: Bool { pinned.withLock { $0.hasLoggedIn } }

    private func pin(_ scope: String) -> String {
        pinned.withLock { pinned in
            let scope = pinned.scope ?? scope
            pinned.scope = scope
            return scope
        }
    }

    /// Whether the send may be sent with a credential of a scope.
    private func admits(_ scope: String) -> Bool {
        let obtainsCredentials = session.obtainsCredentials
        return pinned.withLock { pinned in
            if obtainsCredentials || !pinned.isSent, pinned.scope == "", !scope.isEmpty {
                pinned.hasLoggedIn = true
                pinned.scope = scope
            }
            pinned.isSent = true
            pinned.scope = pinned.scope ?? scope
            return pinned.scope == scope
        }
    }

    /// Adds the current credential to a request, if it applies to the request's URL.
    ///
    /// - Throws: ``NetworkError/Reason/credentialChanged``, or the error of the authenticator.
    func place(on request: inout OutgoingRequest, for context: RequestContext) async throws {
        guard session.appliesTo(request.url) else { return }
        let credential = session.currentCredential
        guard admits(credential?.scope ?? "") else { throw NetworkError(.credentialChanged) }
        guard let credential else { return }
        let before = request
        request.notes.isBodyNew = false
        try await credential.apply(&request, context)
        let isSameData = before.body.data.map { $0 == request.body.data } ?? false
        request.notes.hasCredentialInBody = request.notes.isBodyNew && !isSameData
        request.notes.credential = AppliedCredential(
            request.headers,
            request.url,
            addedTo: (before.headers, before.url)
        )
        request.notes.credentialVersion = credential.version
    }
}

/// The maximum number of refreshes that an ``AuthenticationSession`` starts within a time, so that a server that rejects every
/// credential does not cause endless refreshes.
public struct RefreshWindow: Sendable {
    /// The maximum number of refreshes that start in ``duration``; 0 allows none.
    ///
    /// A refresh without a connection to its server doesn't count, nor does one before the last login. The default is 5.
    public let maximumCount: Int

    /// The length of the window, which moves with time.
    ///
    /// A failed refresh is remembered for the same time. If the network prevented it, only sends whose credential was not
    /// rejected use that. The default is 30 seconds.
    public let duration: Duration

    /// The maximum time of a refresh; the next send after it cancels the refresh and starts another one.
    ///
    /// The default is 60 seconds.
    public let deadline: Duration

    /// The start times of the last refreshes, oldest first.
    private var starts: [Duration] = []

    /// Creates a window.
    ///
    /// A negative count is replaced by 0.
    public init(maximumCount: Int = 5, duration: Duration = .seconds(30), deadline: Duration = .seconds(60)) {
        self.maximumCount = max(0, maximumCount)
        self.duration = duration.clamped
        self.deadline = deadline.clamped
    }

    /// Whether a refresh may start now.
    func hasRoom(at now: Duration) -> Bool { starts.lazy.filter { $0 > now - duration }.count < maximumCount }

    /// Counts a refresh that starts now, unless the window is full.
    ///
    /// - Parameter now: A time that never runs backwards.
    /// - Returns: Whether it may start.
    mutating func admit(at now: Duration) -> Bool {
        starts.removeAll { $0 <= now - duration }
        guard starts.count < maximumCount else { return false }
        starts.append(now)
        return true
    }

    /// Forgets the refreshes so far.
    mutating func restart() { starts = [] }

    /// Removes a refresh that started at a time and was not sent.
    mutating func discount(_ start: Duration) {
        if let index = starts.lastIndex(of: start) { starts.remove(at: index) }
    }
}
