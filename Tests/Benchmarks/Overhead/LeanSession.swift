import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A delegate session as one would write it by hand for speed: nothing kept, callbacks inline, tasks made on one queue.
final class LeanSession: Sendable {
    private let session: URLSession
    private let delegate = LeanDelegate()
    private let control = DispatchQueue(label: "lean.control", qos: .userInitiated)

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = 8
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: InlineQueue())
    }

    func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await withCheckedThrowingContinuation { continuation in
            control.async { [self] in
                let task = session.dataTask(with: request)
                delegate.expect(task, continuation)
                task.resume()
            }
        }
    }
}

/// Unchecked: it has no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}

/// Unchecked: `waiting` is only touched while `lock` is held.
private final class LeanDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Continuation = CheckedContinuation<(Data, HTTPURLResponse), any Error>

    private let lock = NSLock()
    private var waiting: [Int: (continuation: Continuation, data: Data)] = [:]

    func expect(_ task: URLSessionTask, _ continuation: Continuation) {
        lock.withLock { waiting[task.taskIdentifier] = (continuation, Data()) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { waiting[dataTask.taskIdentifier]?.data.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let waiter = lock.withLock { waiting.removeValue(forKey: task.taskIdentifier) }
        guard let (continuation, data) = waiter else { return }
        if let error {
            continuation.resume(throwing: error)
        } else if let response = task.response as? HTTPURLResponse {
            continuation.resume(returning: (data, response))
        } else {
            continuation.resume(throwing: URLError(.badServerResponse))
        }
    }
}
