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
/// repeated once. If the refresh fails, all of them fail with its error; until the window of ``RefreshWindow`` has passed,
/// or a new credential is set, requests with an unauthorized response fail at once with the same error. Without a
/// credential, requests are sent without one.
public final class AuthenticationSession<A: Authenticator>: CredentialHolder {
    private let authenticator: A
    private let timeline: Timeline
    private let state: Lock<CredentialState<A.Credential>>
    /// The kind of users: the type of the authenticator and what distinguishes it from others of its type.
    private let kind: String
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
        kind = Self.kind(of: authenticator)
        timeline = Timeline(clock)
        state = Lock(CredentialState(window: window))
        if let credential { login(credential) }
    }

    /// The credential of requests from now on, or `nil` if no user is logged in.
    public var credential: A.Credential? { state.withLock { $0.held?.credential } }

    /// Replaces the credential; a running refresh is cancelled and its result ignored.
    ///
    /// Sends that started with the credential of another user, by ``Authenticator/scope(of:)``, fail with
    /// ``NetworkError/Reason/loginChanged`` and are not sent with the new one.
    public func login(_ credential: A.Credential) { replace(credential) }

    /// Removes the credential; a running refresh is cancelled and its result ignored.
    public func logout() { replace(nil) }

    private func replace(_ credential: A.Credential?) {
        let scope = credential.flatMap(authenticator.scope)
        let ended = state.withLock { $0.replace(credential) { self.scope(scope, login: $0) } }
        ended?.task?.cancel()
        ended?.settle(.settled)
    }

    private func scope(_ own: String?, login: Int) -> String {
        // Users of different kinds may have the same number.
        own.map { "\(kind) user \($0)" } ?? "login \(login) of \(name)"
    }

    /// Returns the type of an authenticator, with a digest of the texts, numbers and cases that a struct was created
    /// with, such as the name of a realm.
    ///
    /// They are the same in every process, unlike references.
    private static func kind(of authenticator: A) -> String {
        let mirror = Mirror(reflecting: authenticator)
        let type = String(reflecting: A.self)
        guard mirror.displayStyle == .struct else { return type }
        let values = mirror.children.compactMap { child -> String? in
            switch child.value {
            case let value as any LosslessStringConvertible: value.description
            case let value as URL: value.absoluteString
            case let value where Mirror(reflecting: value).displayStyle == .enum: "\(value)"
            default: nil
            }
        }
        return values.isEmpty ? type : "\(type) \(CacheIdentification.digest(values))"
    }

    /// The number of sends that wait for the running refresh.
    var waiterCount: Int { state.withLock { $0.flight?.waiters.count ?? 0 } }

    // MARK: For sends

    func appliesTo(_ url: URL) -> Bool { authenticator.appliesTo(url) }

    func isRefusal(_ error: any Error, of response: RawResponse) -> Bool {
        authenticator.isRefusal(error, of: response)
    }

    var login: Login? {
        state.withLock(\.held).map { [authenticator] held in
            Login(version: held.version, scope: held.scope) { request, context in
                try await authenticator.apply(held.credential, to: &request, for: context)
            }
        }
    }

    func needBeforeSending() -> RefreshReason? {
        let (held, isRefreshing) = state.withLock { ($0.held, $0.flight != nil) }
        guard let held, isRefreshing || authenticator.needsRefresh(held.credential) else { return nil }
        return .expiring(held.version)
    }

    func wouldWait(for need: RefreshReason) -> Bool {
        let now = timeline.now()
        return state.withLock { $0.wouldWait(for: need, at: now) }
    }

    func wait(for need: RefreshReason, by client: any RefreshClient) async throws {
        guard let agent = client as? Agent else { throw NetworkError(.other("only an agent can refresh a login")) }
        let id = state.withLock { $0.makeID() }
        let outcome = await withTaskCancellationHandler {
            await enter(id: id, for: need, by: agent).value()
        } onCancel: {
            state.withLock { $0.flight?.waiters.removeValue(forKey: id) }?.deliver(.cancelled)
        }
        switch outcome {
        case .settled: return
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        }
    }

    private func enter(id: Int, for need: RefreshReason, by agent: Agent) -> Delivery<RefreshOutcome> {
        let waiter = Delivery<RefreshOutcome>()
        let now = timeline.now()
        let (outcome, flight) = state.withLock { state -> (RefreshOutcome?, CredentialState<A.Credential>.Flight?) in
            // The flag is set before the cancellation handler runs, and the handler needs this lock: either it is seen
            // here, or the handler finds the waiter.
            if Task.isCancelled { return (.cancelled, nil) }
            switch state.step(for: need, at: now) {
            case .goOn: return (.settled, nil)
            case .fail(let error): return (.failed(error), nil)
            case .wait:
                state.flight?.waiters[id] = waiter
                return (nil, nil)
            case .start(let flight):
                state.flight?.waiters[id] = waiter
                return (nil, flight)
            }
        }
        if let outcome { waiter.deliver(outcome) }
        if let flight { start(flight, by: agent) }
        return waiter
    }

    // MARK: The refresh

    /// Starts a refresh in a task that the session owns; it ends by itself or with ``replace(_:)``.
    private func start(_ flight: CredentialState<A.Credential>.Flight, by agent: Agent) {
        // Detached, so that it inherits nothing from the waiter that happens to come first except the refreshes that it
        // is part of, so that none of them waits for itself.
        let scope = RefreshScope(of: self)
        let task = Task.detached { await RefreshScope.run(scope) { await self.refresh(flight, with: agent) } }
        let isWanted = state.withLock { state in
            guard state.flight?.id == flight.id else { return false }
            state.flight?.task = task
            return true
        }
        // The credential was replaced first, or the refresh is over already and this does nothing.
        if !isWanted { task.cancel() }
    }

    private func refresh(_ flight: CredentialState<A.Credential>.Flight, with agent: Agent) async {
        let result: Result<A.Credential, any Error>
        var isRemembered = true
        do {
            result = .success(try await authenticator.refresh(flight.held.credential, with: agent))
        } catch {
            isRemembered = !(error is CancellationError)
            result = .failure(Self.redacted(error))
        }
        let scope = (try? result.get()).flatMap(authenticator.scope)  // A failure has none.
        let now = timeline.now()
        let ended = state.withLock {
            $0.end(
                flight.id,
                with: result,
                scope: { self.scope(scope, login: $0) },
                isRemembered: isRemembered,
                at: now
            )
        }
        ended?.flight.settle(ended?.outcome ?? .settled)
    }

    /// The error of a refresh for the sends that waited for it.
    ///
    /// Errors of the library don't mention a refresh, so they become the underlying error of one that does; other
    /// errors are unchanged. With a bare `CancellationError`, a caller would seem to have been cancelled itself.
    private static func redacted(_ error: any Error) -> any Error {
        switch error {
        case is NetworkError, is ServiceError, is CancellationError: NetworkError(.refreshFailed, underlying: error)
        default: error
        }
    }
}

extension CredentialState.Flight {
    /// Completes the refresh for all waiters.
    fileprivate func settle(_ outcome: RefreshOutcome) {
        for waiter in waiters.values { waiter.deliver(outcome) }
    }
}

extension Authentication {
    /// Authenticates with the credential of a session, which any number of configs, services and agents may share.
    public static func session<A: Authenticator>(_ session: AuthenticationSession<A>) -> Authentication {
        Authentication(session)
    }
}
