#if !canImport(FoundationNetworking)
internal import Foundation

/// The specifics of URLSession on Apple platforms.
enum SessionPlatform {
    /// A timeout that is never reached, in seconds: a year.
    static let never: TimeInterval = 31_536_000

    /// Lets the process exit while a session uses TLS, which needs no preparation here.
    static func prepareForExit() {}

    /// Sets what the library depends on in a configuration: nothing here.
    static func adjust(_ configuration: URLSessionConfiguration) {}

    /// Returns the queue for callbacks, or `nil` to let the session create a serial queue.
    static func delegateQueue() -> OperationQueue? { nil }

    /// Returns the response to a challenge: the system validates certificates, and any other challenge is left to the
    /// response with its 401 or 407.
    static func disposition(for challenge: URLAuthenticationChallenge) -> URLSession.AuthChallengeDisposition {
        let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
        return isTrust ? .performDefaultHandling : .rejectProtectionSpace
    }

    /// Returns whether to respond to a redirect, which is always required.
    static func mayCompleteRedirect(of exchange: SessionExchange?) -> Bool { true }

    /// Accepts every host.
    static func checkHost(of url: URL) throws(NetworkError) {}

    /// Sets the length of a body that is sent as a stream.
    static func state(_ byteCount: Int64, in request: inout URLRequest) {
        request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
    }
}

/// The session of a transport.
final class SessionHolder: Sendable {
    let current: URLSession

    init(_ session: URLSession) { current = session }

    /// Closes the connections that no exchange uses.
    func closeIdleConnections(_ makeSession: () -> URLSession) { current.flush {} }
}

extension OutgoingRequest {
    /// Whether the request needs a connection of its own; the system never repeats a request that is not idempotent.
    var needsNewConnection: Bool { false }

    /// The body if it is in memory, or `nil` if it is sent as a stream.
    func dataForSession() -> Data? { body.isEmpty ? nil : body.data }
}

/// Counts as always free: on Apple platforms sessions share no queue, and creating a task does not wait.
enum SessionQueueLoad {
    /// The size from which a body makes other tasks wait: never.
    static let largeBody = Int.max

    static let isFree = true

    static func exchangeBegan() {}

    static func exchangeEnded() {}

    static func isBusy() {}

    static func measuring(_ work: () -> Void) { work() }

    /// Runs `work` soon; callbacks that wait on a session's delegate queue have the time by which a timeout is delayed.
    static func afterItsWork(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }
}

/// Pauses the reception of one task of URLSession.
final class SessionReception: PausableReception {
    private let task: URLSessionTask
    /// Whether the task is suspended.
    ///
    /// Calls nest: it continues only after as many of `resume()` as of `suspend()`, which return at once.
    private let isPaused = Lock(false)

    /// Creates the reception of a running task.
    init?(_ task: URLSessionTask, _ transfer: SessionTransfer?) { self.task = task }

    func pause() {
        isPaused.withLock { isPaused in
            if !isPaused { task.suspend() }
            isPaused = true
        }
    }

    func resume(if isWanted: @escaping @Sendable () -> Bool) {
        isPaused.withLock { isPaused in
            guard isPaused, isWanted() else { return }
            task.resume()
            isPaused = false
        }
    }

    static func renew(_ transfer: @escaping @Sendable () -> SessionTransfer?) {}
}

/// What is below a task, which is out of reach on Apple platforms.
struct SessionTransfer: Sendable {
    func dropFurtherLines() {}
}

extension SessionPlatform {
    /// Receptions need no renewal.
    static let firstRenewal: Duration? = nil

    /// Whether the first final header section may be a proxy's.
    static let mayHaveProxy = false
}
#endif
