/// What a ``LoginSession`` knows; every change of it is a function of state and time.
struct LoginState<Credential: Sendable>: Sendable {
    /// A credential with the numbers by which it is told from others.
    struct Held: Sendable {
        let credential: Credential
        let version: Int
        let scope: String
    }

    /// A refresh under way.
    struct Flight: Sendable {
        let id: Int
        let held: Held
        /// Whether a server refused the credential, in contrast to one that only ends soon.
        var wasRefused: Bool
        var waiters: [Int: Delivery<LoginOutcome>] = [:]
        var task: Task<Void, Never>?
    }

    /// What a send that needs a better credential has to do.
    enum Step {
        case goOn
        case fail(any Error)
        case wait
        /// Wait, and start this refresh.
        case start(Flight)
    }

    private struct Failure: Sendable {
        let version: Int
        let error: any Error
        let end: Duration
    }

    private(set) var held: Held?
    var flight: Flight?
    private var failure: Failure?
    private var window: RefreshWindow
    /// Counts credentials.
    private var version = 0
    /// Counts logins, which a refresh is not.
    private var login = 0
    private var lastID = 0

    init(window: RefreshWindow) { self.window = window }

    mutating func makeID() -> Int {
        lastID += 1
        return lastID
    }

    /// Takes the credential of a new login, or none; nothing that went before counts any more.
    ///
    /// - Returns: The refresh that nobody needs now.
    mutating func replace(_ credential: Credential?, scope: (_ login: Int) -> String) -> Flight? {
        defer { flight = nil }
        login += 1
        version += 1
        failure = nil
        held = credential.map { Held(credential: $0, version: version, scope: scope(login)) }
        return flight
    }

    /// Decides for a send; a refresh that it starts is under way when this returns.
    mutating func step(for need: LoginNeed, at now: Duration) -> Step {
        if let running = flight {
            if case .refused(running.held.version) = need { flight?.wasRefused = true }
            return .wait
        }
        guard let held, held.version == need.version else { return .goOn }
        let isRefused = if case .refused = need { true } else { false }
        if let failure, failure.version == held.version, now < failure.end {
            return isRefused ? .fail(failure.error) : .goOn
        }
        guard window.admit(at: now) else {
            let reason = NetworkError.Reason.excessiveRefresh(limit: window.maximumCount, window: window.duration)
            return isRefused ? .fail(NetworkError(reason)) : .goOn
        }
        let flight = Flight(id: makeID(), held: held, wasRefused: isRefused)
        self.flight = flight
        return .start(flight)
    }

    /// Whether ``step(for:at:)`` would have the send wait.
    ///
    /// In place, since a copy of the state would have its waiters copied for the next one that is added.
    func wouldWait(for need: LoginNeed, at now: Duration) -> Bool {
        if flight != nil { return true }
        guard let held, held.version == need.version else { return false }
        if let failure, failure.version == held.version, now < failure.end { return false }
        return window.hasRoom(at: now)
    }

    /// Takes what a refresh brought, unless a login came first.
    ///
    /// `isRemembered` says whether a failure counts until the window has passed. Returns the refresh that is over, with
    /// what its waiters are to be told.
    mutating func end(
        _ id: Int,
        with result: Result<Credential, any Error>,
        scope: (_ login: Int) -> String,
        isRemembered: Bool,
        at now: Duration
    ) -> (flight: Flight, outcome: LoginOutcome)? {
        guard let ended = flight, ended.id == id else { return nil }
        flight = nil
        switch result {
        case .success(let credential):
            version += 1
            held = Held(credential: credential, version: version, scope: scope(login))
            return (ended, .settled)
        case .failure(let error):
            if isRemembered {
                failure = Failure(version: ended.held.version, error: error, end: now + window.duration)
            }
            return (ended, ended.wasRefused ? .failed(error) : .settled)
        }
    }
}

/// Why a send needs a better credential than the one of a version.
enum LoginNeed: Sendable {
    case refused(_ version: Int)
    case expiring(_ version: Int)

    var version: Int {
        switch self {
        case .refused(let version), .expiring(let version): version
        }
    }
}

/// How waiting for a credential ended.
enum LoginOutcome: Sendable {
    /// What the session holds now is the best there is.
    case settled
    /// The refresh of a refused credential failed.
    case failed(any Error)
    /// The waiting task was cancelled.
    case cancelled
}
