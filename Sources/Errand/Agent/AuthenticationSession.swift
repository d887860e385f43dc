internal import Foundation

/// An object that holds the credential of a user for all requests of the configs and services that use it.
///
/// ```swift
/// let session = AuthenticationSession(Tokens(), credential: stored)
/// config.authentication = .session(session)
/// session.login(token)
/// session.logout()
/// ```
///
/// After an unauthorized response, one refresh runs in a task of the session. Cancelling a caller does not cancel it, so the
/// result of a consumed refresh token is never lost. Other requests with an unauthorized response wait for it, and each is
/// repeated once. If the refresh fails, all of them fail with its error. Until the window of ``RefreshWindow`` has passed, or a
/// new credential is set, further requests with an unauthorized response fail at once with the same error, unless the refresh
/// failed because of the network.
///
/// While there is no credential, requests are sent without one. An unauthorized response to them starts a refresh only with a
/// ``ChallengeAuthenticator``.
public final class AuthenticationSession<A: Authenticator>: CredentialHolder {
    let authenticator: A
    /// The same authenticator, if it obtains credentials from unauthorized responses.
    let challenged: (any ChallengeAuthenticator<A.Credential>)?
    let timeline: Timeline
    let state: Lock<CredentialState<A.Credential>>
    /// The kind of users: the type of the authenticator, and the values that distinguish it from others of its type; `nil` if
    /// they cannot be read, so that its users belong to this session alone.
    private let kind: String?
    /// A name that is unique among all sessions of all processes.
    private let name = UUID().uuidString

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - authenticator: Applies and refreshes credentials, and detects unauthorized responses.
    ///   - credential: The initial credential, such as a stored one, or `nil` if no user is logged in.
    ///   - window: The number of refreshes that may start within a duration.
    ///   - clock: The clock that measures the window. Pass another one for tests.
    public init<C: Clock>(
        _ authenticator: A,
        credential: A.Credential? = nil,
        window: RefreshWindow = RefreshWindow(),
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        self.authenticator = authenticator
        challenged = authenticator as? any ChallengeAuthenticator<A.Credential>
        kind = Self.kind(of: authenticator)
        timeline = Timeline(clock)
        state = Lock(CredentialState(window: window))
        if let credential { login(credential) }
    }

    /// The credential of requests from now on, or `nil` if no user is logged in.
    public var credential: A.Credential? { state.withLock { $0.held?.credential } }

    /// Replaces the credential; a running refresh is cancelled and its result ignored, and the ``RefreshWindow`` begins again.
    ///
    /// Sends that were prepared with the credential of another user, by ``Authenticator/scope(of:)``, fail with
    /// ``NetworkError/Reason/credentialChanged`` and are not sent with the new one. Without a scope, every other credential
    /// belongs to another user.
    public func login(_ credential: A.Credential) { replace(credential) }

    /// Removes the credential; a running refresh is cancelled and its result ignored.
    public func logout() { replace(nil) }

    private func replace(_ credential: A.Credential?) {
        let scope = credential.flatMap(authenticator.scope)
        let ended = state.withLock { $0.replace(credential) { self.scope(scope, loginNumber: $0) } }
        ended?.task?.cancel()
        ended?.settle(.settled)
    }

    func scope(_ own: String?, loginNumber: Int) -> String {
        // Users of different kinds may have the same number.
        own.map { "\(kind ?? name) user \($0)" } ?? "login \(loginNumber) of \(name)"
    }

    /// Returns the type of an authenticator, with a digest of the values that a struct or an enum was created with, such as the
    /// name of a realm; `nil` if one of them cannot be read.
    ///
    /// They are the same in every process, unlike references. The values of an object may change while they are read.
    private static func kind(of authenticator: A) -> String? {
        let type = String(reflecting: A.self)
        guard let values = values(in: authenticator) else { return nil }
        // Most have none but the parentheses.
        return values.isEmpty || values == ["(", "", ")"] ? type : "\(type) \(CacheIdentification.digest(values))"
    }

    /// Returns the texts, numbers and cases in a value, with where each begins and ends; objects count as nothing.
    private static func values(in value: Any) -> [String]? {
        switch value {
        case let value as any LosslessStringConvertible: return ["=", value.description]
        case let value as URL: return ["=", value.absoluteString]
        case let value as UUID: return ["=", value.uuidString]
        case let value as Date: return ["=", "\(value.timeIntervalSinceReferenceDate)"]
        case let value as Data: return ["=", value.base64EncodedString()]
        case let value as HTTPHeaders: return ["{"] + value.flatMap { [$0.name, $0.value] } + ["}"]
        case is any SafeDescription: return nil
        default: break
        }
        let mirror = Mirror(reflecting: value)
        let name: String
        switch mirror.displayStyle {
        case nil, .class, .foreignReference: return []
        case .enum: name = mirror.children.first?.label ?? "\(value)"
        case .struct where mirror.children.isEmpty && value is any CustomReflectable: return nil
        default: name = ""
        }
        var members: [[String]] = []
        for child in mirror.children {
            guard let found = values(in: child.value) else { return nil }
            members.append(found)
        }
        // Their order differs from one process to the next.
        if mirror.displayStyle == .set || mirror.displayStyle == .dictionary {
            return ["{"] + members.map { $0.joined(separator: "\n") }.sorted() + ["}"]
        }
        return ["(", name] + members.flatMap(\.self) + [")"]
    }

    /// The number of sends that wait for the running refresh.
    var waiterCount: Int { state.withLock { $0.refresh?.waiters.count ?? 0 } }

    // MARK: For sends

    func appliesTo(_ url: URL) -> Bool { authenticator.appliesTo(url) }

    func isUnauthorized(_ error: any Error, of response: RawResponse) -> Bool {
        authenticator.isUnauthorized(error, of: response)
    }

    var obtainsCredentials: Bool { challenged != nil }

    var currentCredential: SessionCredential? {
        let (held, version) = state.withLock { ($0.held, $0.version) }
        guard let held else {
            // Its responses are about having no credential.
            return obtainsCredentials ? SessionCredential(version: version, scope: "") { _, _ in } : nil
        }
        return SessionCredential(version: held.version, scope: held.scope) { [authenticator] request, context in
            try await authenticator.apply(held.credential, to: &request, for: context)
        }
    }

    func refreshReasonBeforeSending() -> RefreshReason? {
        let (held, isRefreshing) = state.withLock { ($0.held, $0.refresh != nil) }
        guard let held, isRefreshing || !held.isShortLived && authenticator.needsRefresh(held.credential) else {
            return nil
        }
        return .expiring(held.version)
    }
}

extension Authentication {
    /// Authenticates with the credential of a session, which any number of configs, services and agents may share.
    public static func session<A: Authenticator>(_ session: AuthenticationSession<A>) -> Authentication {
        Authentication(session)
    }
}

extension AuthenticationSession: SafeDescription {
    /// The type of the authenticator, and whether a user is logged in, without the credential.
    public var description: String {
        "AuthenticationSession<\(A.self)>, \(credential == nil ? "logged out" : "logged in")"
    }
}
