internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A ``Transport`` over one URLSession without cache, cookies, credential storage and redirects.
///
/// URLSession creates, starts and cancels tasks synchronously on a queue that all sessions of the process share. A
/// cancellation handler must not wait there, and a caller only briefly. So tasks are cancelled on a queue of the
/// transport's own, and while the shared queue is busy also created and started there.
public final class URLSessionTransport: StoppableTransport {
    private let maximumConnectionsPerHost: Int
    private let session: URLSession
    private let delegate = SessionDelegate()
    private let control = DispatchQueue(label: "errand.transport.control", qos: .userInitiated)

    /// Creates a transport with a session, which lives as long as the transport.
    ///
    /// - Parameter maximumConnectionsPerHost: The maximum number of open connections to one host, at least 1. Further requests
    ///   wait inside the system with their idle timeout running.
    public init(maximumConnectionsPerHost: Int = 8) {
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        session = Self.session(delegate, maximumConnectionsPerHost)
    }

    private static func session(_ delegate: SessionDelegate, _ maximumConnectionsPerHost: Int) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerHost)
        let queue = SessionPlatform.delegateQueue()
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// The number of exchanges whose last callback has not been called yet.
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

    func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse {
        let exchange = SessionExchange(request: request, options: options, control: control)
        return try await withTaskCancellationHandler {
            // Before it starts, so that a send that has ended sends nothing.
            stop?.fill(with: exchange)
            if SessionQueueLoad.isFree, !exchange.needsNewConnection {
                SessionQueueLoad.measuring { start(exchange) }
            } else {
                control.async { [self] in start(exchange) }
            }
            return try await exchange.response()
        } onCancel: {
            exchange.stop()
        }
    }

    private func start(_ exchange: SessionExchange) {
        if exchange.needsNewConnection { return Self.startAlone(exchange, delegate: delegate) }
        guard !exchange.isSettled else { return }
        Self.start(exchange, on: session, delegate: delegate)
    }

    /// Starts an exchange on a connection of its own.
    ///
    /// Sessions do not share connections, and libcurl never sends again on a new one.
    static func startAlone(_ exchange: SessionExchange, delegate: SessionDelegate) {
        guard !exchange.isSettled else { return }
        let session = session(delegate, 1)
        start(exchange, on: session, delegate: delegate)
        session.finishTasksAndInvalidate()
    }

    private static func start(_ exchange: SessionExchange, on session: URLSession, delegate: SessionDelegate) {
        let task = session.dataTask(with: exchange.urlRequest())
        exchange.begin()
        delegate.exchanges.add(exchange, for: task)
        task.resume()
        exchange.began(task)
    }
}
