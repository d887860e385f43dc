internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Passes URLSession's callbacks to the exchange that they belong to.
///
/// They run on the queue that all sessions of the process share. None may block there, nor cancel, suspend or create a
/// task, nor respond to a challenge, because these wait for the same queue.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    let exchanges = OpenExchanges()
    /// The configuration of all sessions of the transport.
    let configuration: URLSessionConfiguration
    private let challenges = DispatchQueue(label: "errand.transport.challenges")

    init(_ configuration: URLSessionConfiguration) { self.configuration = configuration }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchanges[dataTask]?.receive(headerSection: response, of: dataTask)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchanges[dataTask]?.receive(data, of: dataTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = exchanges.remove(task) else { return }
        let isRestarting = exchange.restart(insteadOf: task) { [self] in
            URLSessionTransport.startAlone(exchange, delegate: self)
        }
        if isRestarting { return SessionQueueLoad.exchangeEnded() }
        exchange.complete(error: error) { task.response }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard SessionPlatform.mayCompleteRedirect(of: exchanges[task]) else { return }
        // URLSession would drop bodies and send credentials to other origins; the 3xx is returned unchanged.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let disposition = SessionPlatform.disposition(for: challenge)
        guard disposition != .performDefaultHandling else { return completionHandler(disposition, nil) }
        // Without a response a Basic challenge never completes. The 401 has arrived, and the task ends as cancelled.
        exchanges[task]?.noteCompleteResponse()
        challenges.async { completionHandler(disposition, nil) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // A stream for a body that was given as data ends the process.
        guard task.originalRequest?.httpBodyStream != nil else { return completionHandler(nil) }
        completionHandler(exchanges[task]?.renewedBodyStream() ?? OutgoingBody.brokenStream())
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchanges[task]?.noteActivity()
    }
}
