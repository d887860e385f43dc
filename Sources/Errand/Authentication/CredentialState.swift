internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The state of an ``AuthenticationSession``; every change is a function of state and time.
struct CredentialState<Credential: Sendable>: Sendable {
    /// A credential with the numbers that distinguish it from others.
    struct Held: Sendable {
        let credential: Credential
        let version: Int
        let scope: String
        /// Whether it is not refreshed before a server rejects it.
        var isShortLived = false
    }

    /// A refresh in progress.
    struct Refresh: Sendable {
        let id: Int
        let start: Duration
        /// The credential to replace, or `nil` if there is none yet.
        let held: Held?
        /// The version of that credential, or of having none.
        let version: Int
        /// The response that rejected it, or `nil` if it is about to expire.
        let response: RawResponse?
        /// Whether a server rejected the credential, rather than that it expires soon.
        var wasRejected: Bool
        var waiters = Table<Int, Delivery<RefreshOutcome>>()
        var task: Task<Void, Never>?
    }

    /// The next step of a send that needs a better credential.
    enum Step {
        case goOn
        case fail(any Error)
        case wait
        /// Wait, and start this refresh.
        case start(Refresh)
    }

    private struct Failure: Sendable {
        let version: Int
        let error: any Error
        /// Whether another refresh of a rejected credential may start at once.
        let isOfNetwork: Bool
        /// The time before which no other refresh starts.
        let end: Duration
    }

    private(set) var held: Held?
    var refresh: Refresh?
    private var failure: Failure?
    private var window: RefreshWindow
    /// Counts credentials, and the times when there is none.
    private(set) var version = 0
    /// The number of logins; a refresh is not a login.
    private var loginCount = 0
    private var lastID = 0

    init(window: RefreshWindow) { self.window = window }

    mutating func makeID() -> Int {
        lastID += 1
        return lastID
    }

    /// Sets the credential of a new login, or none, and discards the state of the previous one.
    ///
    /// - Returns: The refresh that is no longer needed.
    mutating func replace(_ credential: Credential?, scope: (_ loginNumber: Int) -> String) -> Refresh? {
        defer { refresh = nil }
        loginCount += 1
        version += 1
        failure = nil
        if credential != nil { window.restart() }
        held = credential.map { Held(credential: $0, version: version, scope: scope(loginCount)) }
        return refresh
    }

    /// Returns the step for a send; a refresh that it starts is in progress when this returns.
    mutating func step(for reason: RefreshReason, at now: Duration) -> Step {
        let response: RawResponse? = if case .rejected(_, let response) = reason { response } else { nil }
        let isRejected = if case .rejected = reason { true } else { false }
        if let running = refresh {
            if isRejected, running.version == reason.version { refresh?.wasRejected = true }
            return .wait
        }
        guard version == reason.version else { return .goOn }
        if let failure = failure(against: reason, at: now) { return isRejected ? .fail(failure.error) : .goOn }
        guard window.admit(at: now) else {
            let limit = NetworkError.Reason.excessiveRefresh(limit: window.maximumCount, window: window.duration)
            return isRejected ? .fail(currentFailure?.error ?? NetworkError(limit)) : .goOn
        }
        let refresh = Refresh(
            id: makeID(),
            start: now,
            held: held,
            version: version,
            response: response,
            wasRejected: isRejected
        )
        self.refresh = refresh
        return .start(refresh)
    }

    /// Removes and returns the refresh in progress if its deadline has passed.
    mutating func takeOverdueRefresh(at now: Duration) -> Refresh? {
        guard let running = refresh, now - running.start >= window.deadline else { return nil }
        refresh = nil
        return running
    }

    /// The error for the sends that wait for a refresh whose deadline has passed.
    var overdueError: NetworkError {
        NetworkError(.refreshFailed, underlying: NetworkError(.deadlineExceeded(window.deadline)))
    }

    /// The failure of the last refresh of the current credential, or `nil` if there is none.
    private var currentFailure: Failure? { failure?.version == version ? failure : nil }

    /// Returns the failure that prevents a refresh for a reason, or `nil` if one may start.
    private func failure(against reason: RefreshReason, at now: Duration) -> Failure? {
        guard let failure = currentFailure, now < failure.end else { return nil }
        // Without a better credential this send fails; one whose credential is still good need not wait for the network.
        if case .rejected = reason, failure.isOfNetwork { return nil }
        return failure
    }

    /// Whether ``step(for:at:)`` would make the send wait.
    ///
    /// Not implemented with a copy of the state, because its waiters would then be copied when the next one is added.
    func wouldWait(for reason: RefreshReason, at now: Duration) -> Bool {
        if refresh != nil { return true }
        guard version == reason.version else { return false }
        return failure(against: reason, at: now) == nil && window.hasRoom(at: now)
    }

    /// Records the result of a refresh, unless there was a new login in the meantime.
    ///
    /// - Parameters:
    ///   - id: The number of the refresh.
    ///   - result: The new credential, or the error for the sends that wait.
    ///   - isShortLived: Whether the new credential is not refreshed before a server rejects it.
    ///   - scope: Returns the scope of the new credential.
    ///   - kind: The consequence of the error for later refreshes.
    ///   - now: The current time.
    /// - Returns: The refresh that has ended and the outcome for its waiters, or `nil` if there was a new login.
    mutating func end(
        _ id: Int,
        with result: Result<Credential, any Error>,
        isShortLived: Bool = false,
        scope: (_ loginNumber: Int) -> String,
        failure kind: RefreshFailureKind = .rejection,
        at now: Duration
    ) -> (refresh: Refresh, outcome: RefreshOutcome)? {
        guard let ended = refresh, ended.id == id else { return nil }
        refresh = nil
        switch result {
        case .success(let credential):
            version += 1
            held = Held(
                credential: credential,
                version: version,
                scope: scope(loginCount),
                isShortLived: isShortLived
            )
            return (ended, .settled)
        case .failure(let error):
            let end = now + window.duration
            switch kind {
            case .rejection: failure = Failure(version: ended.version, error: error, isOfNetwork: false, end: end)
            case .connection(let wasSent):
                failure = Failure(version: ended.version, error: error, isOfNetwork: true, end: end)
                if !wasSent { window.discount(ended.start) }
            case .cancellation: break
            }
            return (ended, ended.wasRejected ? .failed(error) : .settled)
        }
    }
}

/// The consequence of a failed refresh for later ones.
enum RefreshFailureKind: Sendable {
    /// Another refresh would fail in the same way.
    case rejection
    /// The network failed, possibly before anything was sent; another refresh may succeed.
    case connection(wasSent: Bool)
    /// The refresh was cancelled, which is not remembered.
    case cancellation

    init(_ error: any Error) {
        switch error {
        case is CancellationError: self = .cancellation
        // An authenticator may use a session of its own.
        case is URLError: self.init(SessionFailure.classify(error, idleTimeout: .zero, hasHeader: false))
        case let error as NetworkError where error.isOfNetwork:
            self = .connection(wasSent: error.reason.kind != .unreachable)
        default: self = .rejection
        }
    }
}

/// The reason why a send needs a better credential than a version.
enum RefreshReason: Sendable {
    /// It was rejected, by a response that an authenticator may need.
    case rejected(_ version: Int, by: RawResponse? = nil)
    case expiring(_ version: Int)

    var version: Int {
        switch self {
        case .rejected(let version, _), .expiring(let version): version
        }
    }
}

/// The outcome of waiting for a credential.
enum RefreshOutcome: Sendable {
    /// The session's current credential is the best available.
    case settled
    /// The refresh of a rejected credential failed.
    case failed(any Error)
    /// The waiting task was cancelled.
    case cancelled
}
