// The end of a send: by its deadline, a cancellation, or its result.

extension Pipeline {
    /// Delivers a failure, or the response if there is none; returns whether that is delivered unchanged.
    typealias DeliverEnd = nonisolated(nonsending) ((any Error)?) async -> Bool

    /// Returns a delivery of a response unless there is an error, or `nil` if nothing is delivered.
    func ending<Model>(_ deliver: Deliver<Model>?, with response: Response<Model>? = nil) -> DeliverEnd? {
        guard let deliver else { return nil }
        return { error in
            guard error == nil, let response else { return await deliver(.failure(error ?? CancellationError())) }
            return await deliver(.success(response))
        }
    }

    /// Runs stage 12 of a send that failed; returns the error for the caller.
    func end(_ send: Send, throwing error: any Error, delivering deliver: DeliverEnd? = nil) async -> any Error {
        let error = send.final(error)
        send.releaseFile()
        await notifyEnd(of: send, SendOutcome(error), error, delivering: deliver)
        end(send)
        return error
    }

    /// Ends a send whose accessories have been notified.
    func end(_ send: Send) {
        send.finish()
        if send.type.isReceiving { send.prepared?.receiver?.end() }
        sends.forget(send)
    }

    /// Runs stage 12: notifies the accessories, and calls the completion in between.
    func notifyEnd(
        of send: Send,
        _ outcome: SendOutcome,
        _ error: (any Error)?,
        delivering deliver: DeliverEnd?
    ) async {
        await send.notify(.willStop(outcome))
        // Until it is delivered, a callback may still be cancelled.
        let isCancelled = deliver != nil && send.stop.reason == .cancelled && !send.hasFile
        let isDelivered = await deliver?(isCancelled ? CancellationError() : error) ?? true
        await send.notify(.didStop(isDelivered && !isCancelled ? outcome : .cancelled))
    }
}

extension Send {
    /// Starts to watch the deadline, until ``finish()``.
    func watchDeadline() {
        guard let deadline, let watch else { return }
        let started = deadline.watch(stop)
        watch.withLock { $0 = started }
    }

    /// Ends the watching of the deadline.
    func finish() {
        stop.stop(.finished)
        watch?.withLock { $0 }?.cancel()
    }

    /// Releases the file of a download that failed, so that the receiver of its error can begin another one.
    func releaseFile() {
        guard type.isReceiving, let receiver = prepared?.receiver, !receiver.isStream else { return }
        receiver.end()
    }

    /// Returns the error for the caller: cancellation by the caller takes precedence over the deadline.
    func final(_ error: any Error) -> any Error {
        if error is CancellationError {
            let failure: NetworkError
            if stop.isOverDeadline, let deadline {
                failure = deadline.error
            } else if stop.reason == .superseded, isMember {
                // A batch that throws `CancellationError` would seem to have been cancelled by its caller.
                failure = NetworkError(.superseded)
            } else {
                return error
            }
            guard let outgoing = prepared?.outgoing else { return withContext(failure) }
            return withContext(failure.with(request: outgoing))
        }
        // The deadline may pass before the work notices that its caller has cancelled it.
        if case .deadlineExceeded? = (error as? NetworkError)?.reason, !stop.isOverDeadline,
            Task.isCancelled || stop.reason == .cancelled
        {
            return CancellationError()
        }
        return withContext(error)
    }
}

extension PreparedRequest {
    /// The meaning of a `CancellationError`: that the deadline has passed, or that the send was cancelled.
    var stopError: any Error {
        guard self.stop.isOverDeadline, let deadline = self.deadline else { return CancellationError() }
        return deadline.error.with(request: outgoing)
    }
}

extension SendOutcome {
    init(_ accepted: AcceptedResponse) {
        self = .success(statusCode: accepted.response.statusCode, source: accepted.source, metrics: accepted.metrics)
    }

    init(_ error: any Error) { self = error is CancellationError ? .cancelled : .failure(error) }
}
