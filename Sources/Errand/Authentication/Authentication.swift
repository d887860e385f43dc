internal import Foundation
internal import Synchronization

/// Whose login the requests of a config or a service show.
///
/// A service's goes over the config's. A request, or a service under a config's login, opts out by an ``Authorization``
/// of its own, ``Authorization/anonymous`` included, and a request also by an `Authorization` field of its own.
public struct Authentication: Sendable, Equatable, CustomStringConvertible {
    private enum Kind: Sendable {
        case inherited
        case anonymous
        case session(any LoginHolder)
    }

    private let kind: Kind

    /// What the config says; at the end of the line no login is shown.
    public static let inherited = Authentication(kind: .inherited)

    /// No login, whatever the config says.
    public static let anonymous = Authentication(kind: .anonymous)

    init(_ session: any LoginHolder) { kind = .session(session) }

    private init(kind: Kind) { self.kind = kind }

    /// Equal when they name the same session.
    public static func == (one: Authentication, other: Authentication) -> Bool {
        switch (one.kind, other.kind) {
        case (.inherited, .inherited), (.anonymous, .anonymous): true
        case (.session(let one), .session(let other)): one === other
        default: false
        }
    }

    /// The session, where there is one.
    var session: (any LoginHolder)? { if case .session(let session) = kind { session } else { nil } }

    /// The type of the session, and nothing that it holds.
    public var description: String {
        switch kind {
        case .inherited: "inherited"
        case .anonymous: "anonymous"
        case .session(let session): "\(type(of: session))"
        }
    }
}

/// A refresh that the current task is part of, perhaps inside another one.
///
/// It counts while the refresh is under way: a task that was started in it and outlives it is like any other task.
final class RefreshScope: Sendable {
    @TaskLocal static var current: RefreshScope?

    private let session: ObjectIdentifier
    private let outer: RefreshScope?
    private let hasEnded = Atomic(false)

    init(of session: some AnyObject) {
        self.session = ObjectIdentifier(session)
        outer = Self.current?.active
    }

    /// Whether the current task is part of a refresh.
    static var isActive: Bool { current?.contains { _ in true } ?? false }

    /// Whether the current task is part of a refresh of a session.
    static func contains(_ session: any LoginHolder) -> Bool {
        current?.contains { $0 == ObjectIdentifier(session) } ?? false
    }

    private func contains(_ isMeant: (ObjectIdentifier) -> Bool) -> Bool {
        guard let active else { return false }
        return isMeant(active.session) || active.outer?.contains(isMeant) ?? false
    }

    /// This refresh, or the next one around it that is under way, so that chains do not grow with time.
    private var active: RefreshScope? { hasEnded.load(ordering: .acquiring) ? outer?.active : self }

    /// Runs the refresh.
    static func run(_ scope: RefreshScope, _ refresh: () async -> Void) async {
        await $current.withValue(scope) { await refresh() }
        scope.hasEnded.store(true, ordering: .releasing)
    }
}

extension PinnedLogin {
    /// The login that a request shows, or `nil`; `own` are the header fields that the request itself sets.
    convenience init?(
        _ choices: Choices,
        of settings: Settings,
        for client: any LoginClient,
        own: () -> HTTPHeaders
    ) {
        let (config, service) = (settings.config.value.authentication, settings.service.authentication)
        guard config != .inherited || service != .inherited else { return nil }
        let choice = Choice(request: nil, service: service, config: config, library: .anonymous)
        guard let session = choice.value.session, choices.authorization.origin <= choice.origin,
            !RefreshScope.contains(session), !own().contains("Authorization")
        else { return nil }
        self.init(session: session, client: client)
    }
}

/// A ``LoginSession`` to those who do not know its types.
protocol LoginHolder: AnyObject, Sendable {
    /// The current login; `nil` when logged out.
    var login: Login? { get }

    func appliesTo(_ url: URL) -> Bool
    func isRefusal(_ error: any Error, of response: RawResponse) -> Bool

    /// Why a send had better wait before it goes out, or `nil`.
    func needBeforeSending() -> LoginNeed?

    /// Whether waiting would not be over at once.
    func wouldWait(for need: LoginNeed) -> Bool

    /// Waits until there is a better credential, or none to be had; starts the refresh where none is under way.
    ///
    /// - Throws: What the refresh failed with, or `CancellationError` when the waiting task is cancelled.
    func wait(for need: LoginNeed, by client: any LoginClient) async throws
}

/// What an ``Authenticator`` sends the requests of a refresh with: an ``Agent``, to those who do not know it.
protocol LoginClient: AnyObject, Sendable {}

/// A credential, ready to be put on requests.
struct Login: Sendable {
    let version: Int
    /// Whose it is.
    let scope: String
    let apply: @Sendable (inout OutgoingRequest, RequestContext) async throws -> Void
}

/// The login of one send: it stays with the user for whom it began.
///
/// The user is taken down when the identity of the send is computed, at the latest before its first attempt. Were the
/// user another one afterwards, the answer would be stored and shared under the wrong name.
final class PinnedLogin: Sendable {
    let session: any LoginHolder
    let client: any LoginClient
    private let pinned = Lock<String?>(nil)

    init(session: any LoginHolder, client: any LoginClient) { (self.session, self.client) = (session, client) }

    /// Whose the send is; empty when logged out.
    var scope: String { pin(session.login?.scope ?? "") }

    private func pin(_ scope: String) -> String {
        pinned.withLock { pinned in
            let scope = pinned ?? scope
            pinned = scope
            return scope
        }
    }

    /// Puts the current credential on a request, where it belongs to the request's host.
    ///
    /// - Throws: ``NetworkError/Reason/loginChanged``, or what the authenticator throws.
    func place(on request: inout OutgoingRequest, for context: RequestContext) async throws {
        guard session.appliesTo(request.url) else { return }
        let login = session.login
        guard pin(login?.scope ?? "") == login?.scope ?? "" else { throw NetworkError(.loginChanged) }
        guard let login else { return }
        let before = request.headers
        try await login.apply(&request, context)
        let after = request.headers
        request.credentialHeaders = after.map(\.name).filter { after.values(for: $0) != before.values(for: $0) }
        request.credentialVersion = login.version
    }
}
