#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A ``Transport`` over one URLSession without cache, cookies, credential storage and redirects.
///
/// URLSession creates, starts and cancels tasks synchronously on a queue that all sessions of the process share. A
/// cancellation handler must not wait there, and a caller only briefly. So tasks are cancelled on a queue of the
/// transport's own, and while the shared queue is busy also created and started there.
public final class URLSessionTransport: StoppableTransport {
    private let session: SessionHolder
    private let delegate: SessionDelegate
    private let cancellations = SessionCancellations()

    /// Creates a transport with a session, which lives as long as the transport.
    ///
    /// - Parameter maximumConnectionsPerHost: The maximum number of open connections to one host, at least 1. Further requests
    ///   wait inside the system with their idle timeout running.
    public convenience init(maximumConnectionsPerHost: Int = 8) {
        self.init(configuration: Self.configuration(maximumConnectionsPerHost: maximumConnectionsPerHost))
    }

    /// Creates a transport with a session of your own configuration, which lives as long as the transport.
    ///
    /// Begin with ``configuration(maximumConnectionsPerHost:)``, change what you need, and pass the result:
    ///
    /// ```swift
    /// let configuration = URLSessionTransport.configuration(maximumConnectionsPerHost: 2)
    /// let agent = Agent(config: config, transport: URLSessionTransport(configuration: configuration))
    /// ```
    ///
    /// The configuration is copied. The transport overrides the following properties, because Errand replaces what they
    /// do, or because they would send what ``Secrets`` and origins forbid:
    ///
    /// - `urlCache` is `nil` and `requestCachePolicy` ignores local data: ``NetworkConfig/cache`` is the cache. On Linux a
    ///   URLCache can also end the process when a request is cancelled.
    /// - `httpCookieStorage` is `nil`, `httpShouldSetCookies` is `false` and `httpCookieAcceptPolicy` is `.never`.
    /// - `urlCredentialStorage` is `nil`: ``InheritedSettings/authorization`` and ``AuthenticationSession`` have the credentials.
    /// - `httpAdditionalHeaders` is `nil`: ``InheritedSettings/headers`` are validated, and withheld from other origins.
    /// - `timeoutIntervalForRequest` has no effect: ``Limits/timeout`` is measured by Errand.
    ///
    /// On Apple platforms everything else applies, such as `protocolClasses`, `connectionProxyDictionary`,
    /// `tlsMinimumSupportedProtocolVersion`, `waitsForConnectivity`, `multipathServiceType`, `allowsCellularAccess`,
    /// `allowsExpensiveNetworkAccess` and `timeoutIntervalForResource`. Background configurations are not supported.
    ///
    /// On Linux only `httpMaximumConnectionsPerHost` and `protocolClasses` have an effect; proxies are taken from the
    /// environment, and certificates from the system.
    ///
    /// - Parameter configuration: The configuration.
    public init(configuration: URLSessionConfiguration) {
        delegate = SessionDelegate(Self.adjusted(configuration))
        session = SessionHolder(Self.session(delegate, delegate.configuration))
    }

    /// Returns the configuration of the library: an ephemeral one without cache, cookies and credential storage.
    ///
    /// - Parameter maximumConnectionsPerHost: The maximum number of open connections to one host, at least 1.
    /// - Returns: A new configuration, which can be changed and passed to ``init(configuration:)``.
    public static func configuration(maximumConnectionsPerHost: Int = 8) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = maximumConnectionsPerHost
        return adjusted(configuration)
    }

    /// Returns a copy with the settings that the library depends on.
    private static func adjusted(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        let copy = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
        copy.urlCache = nil
        copy.requestCachePolicy = .reloadIgnoringLocalCacheData
        copy.httpCookieStorage = nil
        copy.httpShouldSetCookies = false
        copy.httpCookieAcceptPolicy = .never
        copy.urlCredentialStorage = nil
        copy.httpAdditionalHeaders = nil
        copy.httpMaximumConnectionsPerHost = max(1, copy.httpMaximumConnectionsPerHost)
        SessionPlatform.adjust(copy)
        return copy
    }

    private static func session(_ delegate: SessionDelegate, _ configuration: URLSessionConfiguration) -> URLSession {
        SessionPlatform.prepareForExit()
        let queue = SessionPlatform.delegateQueue()
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    deinit { session.current.finishTasksAndInvalidate() }

    /// Closes the connections that no exchange uses, such as when an app moves to the background or the network changes.
    ///
    /// Exchanges that have begun are not affected; those that begin later open new connections.
    public func closeIdleConnections() {
        session.closeIdleConnections { Self.session(delegate, delegate.configuration) }
    }

    /// The number of exchanges whose last callback is still to come.
    var openExchangeCount: Int { delegate.exchanges.count }

    /// Sends a request over the session.
    ///
    /// - Parameters:
    ///   - request: The validated request.
    ///   - options: The limits of this exchange.
    /// - Returns: The final header section, with a body that is complete or still in transit.
    /// - Throws: ``NetworkError``, or `CancellationError` if the task was cancelled.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try await send(request, options: options, stop: nil)
    }

    /// Sends a request over the session, and ends the exchange when the slot is stopped.
    ///
    /// - Parameters:
    ///   - request: The validated request.
    ///   - options: The limits of this exchange.
    ///   - stop: The place for the exchange, or `nil` if only the cancellation of the task ends it.
    /// - Returns: The final header section, with a body that is complete or still in transit.
    /// - Throws: ``NetworkError``, or `CancellationError` if the exchange was stopped or its task cancelled.
    package func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse {
        try SessionPlatform.checkHost(of: request.url)
        let exchange = SessionExchange(request: request, options: options, cancellations: cancellations)
        return try await withTaskCancellationHandler {
            // Before it starts, so that a send that has ended sends nothing.
            stop?.fill(with: exchange)
            if SessionQueueLoad.isFree, !exchange.needsNewConnection {
                SessionQueueLoad.measuring { start(exchange) }
            } else {
                cancellations.queue.async { [self] in start(exchange) }
            }
            return try await exchange.response()
        } onCancel: {
            exchange.stop()
        }
    }

    private func start(_ exchange: SessionExchange) {
        if exchange.needsNewConnection { return Self.startAlone(exchange, delegate: delegate) }
        guard exchange.begin() else { return }
        Self.start(exchange, on: session.current, delegate: delegate)
    }

    /// Starts an exchange on a connection of its own.
    ///
    /// Sessions do not share connections, and libcurl never sends again on a new one of HTTP/1.1.
    static func startAlone(_ exchange: SessionExchange, delegate: SessionDelegate) {
        guard exchange.begin() else { return }
        let configuration = adjusted(delegate.configuration)
        configuration.httpMaximumConnectionsPerHost = 1
        let session = session(delegate, configuration)
        start(exchange, on: session, delegate: delegate)
        session.finishTasksAndInvalidate()
    }

    private static func start(_ exchange: SessionExchange, on session: URLSession, delegate: SessionDelegate) {
        let task = session.dataTask(with: exchange.urlRequest())
        SessionQueueLoad.exchangeBegan()
        delegate.exchanges.add(exchange, for: task)
        task.resume()
        exchange.began(task)
    }
}

/// Cancels tasks of URLSession on a queue of its own, first those that wait for a connection.
///
/// A cancelled task passes its connection on to a waiting one, which would send its request even if it is cancelled a
/// moment later. So tasks that are cancelled within some milliseconds are cancelled together, the last one first.
/// Callers do not wait.
final class SessionCancellations: Sendable {
    private static let pause = DispatchTimeInterval.milliseconds(2)
    /// The number of tasks in one pause from which many are being cancelled, so that the rest of them is waited for.
    private static let manyCount = 32
    /// The maximum number of pauses before the tasks are cancelled.
    private static let maximumPauseCount = 50

    /// The queue on which tasks are cancelled, and started while the queue of URLSession is busy.
    let queue = DispatchQueue(label: "errand.transport.control", qos: .userInitiated)
    private let tasks = Lock<[URLSessionTask]>([])

    func add(_ task: URLSessionTask) {
        let isFirst = tasks.withLock { tasks in
            tasks.append(task)
            return tasks.count == 1
        }
        if isFirst { cancelTasks(after: 1, laterThan: 0) }
    }

    /// Cancels the added tasks after a pause, and after further pauses while many are added.
    ///
    /// - Parameters:
    ///   - number: The number of this pause, starting at 1.
    ///   - count: The number of tasks before it.
    private func cancelTasks(after number: Int, laterThan count: Int) {
        queue.asyncAfter(deadline: .now() + Self.pause) { [self] in
            let (tasks, newCount) = tasks.withLock { tasks -> ([URLSessionTask], Int) in
                if number < Self.maximumPauseCount, tasks.count - count >= Self.manyCount { return ([], tasks.count) }
                defer { tasks = [] }
                return (tasks, 0)
            }
            if newCount > 0 { return cancelTasks(after: number + 1, laterThan: newCount) }
            for task in tasks.sorted(by: { $0.taskIdentifier > $1.taskIdentifier }) { task.cancel() }
        }
    }
}
