internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What happens if the connection of a request dies, or a server refuses the request over HTTP/2.
extension SessionExchange {
    /// Returns the stream to send the body with once more, on another connection.
    ///
    /// A kept-alive connection died without a byte of a response, and it is not known whether the request was received. If
    /// it must not be sent twice, the exchange fails at once. At most the header section of a second request is sent then.
    func renewedBodyStream() -> InputStream? { mayRepeat() ? bodyStream() : OutgoingBody.brokenStream() }

    /// Sends the request once more with another task, or fails, if the connection of a task died or refused it.
    ///
    /// - Parameters:
    ///   - task: The task, which has ended.
    ///   - start: Starts another one on a new connection.
    /// - Returns: Whether there will be another task.
    func restart(insteadOf task: URLSessionTask, _ start: @escaping @Sendable () -> Void) -> Bool {
        guard state.withLock({ $0.isInterrupted && $0.retired == nil }), mayRepeat() else { return false }
        state.withLock { state in
            (state.task, state.transfer, state.retired) = (nil, nil, task)
            (state.hasBegun, state.isInterrupted) = (false, false)
        }
        cancellations.queue.async(execute: start)
        return true
    }

    /// Returns whether the request may be sent once more, or for the first time; if not, the exchange fails.
    private func mayRepeat() -> Bool {
        let (isCancelled, hasBegun) = state.withLock { ($0.isCancelled, $0.hasBegun) }
        guard !isCancelled else { return false }
        if request.mayBeSentTwice || !hasBegun, request.body.isReplayable { return true }
        fail(NetworkError(.closedWithoutResponse))
        return false
    }
}
