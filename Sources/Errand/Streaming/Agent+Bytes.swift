internal import Foundation

// Streams: the send runs in a task that the stream owns, and ends when the stream does.

extension Agent {
    /// Sends a request and returns its response while the body is still arriving.
    ///
    /// ```swift
    /// let stream = try await agent.bytes(for: GeneralRequest("/export.csv"))
    /// for try await line in stream.lines { print(line) }
    /// ```
    ///
    /// The stream is a send up to its last byte. The refresh of a credential, redirects, the deadline and
    /// ``cancelAll(where:)`` apply as usual, it holds its permit of the throttle, and it is retried until there is an
    /// accepted header section. For accessories the send ends with the stream. It differs from other sends in four
    /// ways:
    ///
    /// - The body of an accepted response is passed on unchanged: filter, formatter and ``Acceptance/shape`` are not
    ///   used, and a failure after the header section is not retried. A rejected response fails with its body, as
    ///   usual.
    /// - The response is neither cached nor shared with other sends.
    /// - A limit of the body's size applies only if the request itself sets it.
    /// - The exchange has a connection of its own, so that a slow reader does not delay other requests to the host.
    ///
    /// - Parameter request: The request to send, which is prepared on the caller's actor.
    /// - Returns: The response, with a body that is still to be read.
    /// - Throws: What `send(_:)` would throw.
    public func bytes<R: Request>(for request: R) async throws -> ResponseStream {
        try await open(request, receivedBy: StreamReceiver())
    }

    /// Prepares a request on its caller, sends it in a task of the stream, and waits for the header section.
    func open<R: Request>(_ request: R, receivedBy receiver: StreamReceiver) async throws -> ResponseStream {
        let request = StreamRequest(base: request, receiver: receiver)
        let send = makeSend(request, in: receiver.sequence)
        let prepared: PreparedRequest
        do {
            prepared = try await pipeline.prepare(request, as: send)
        } catch {
            throw await pipeline.end(send, throwing: error)
        }
        let task = Task { [pipeline] in try await pipeline.run(prepared, as: send, for: receiver) }
        let opening = try await withTaskCancellationHandler {
            try await receiver.opened.value().get()
        } onCancel: {
            task.cancel()
        }
        let body = StreamBody(opening.chunks, of: receiver, task: task)
        return ResponseStream(opening, of: prepared, body: body)
    }
}

extension Pipeline {
    /// Runs the stages 3 to 12 of a stream.
    fileprivate func run(_ prepared: PreparedRequest, as send: Send, for receiver: StreamReceiver) async throws {
        do {
            let accepted: AcceptedResponse
            do {
                accepted = try await response(to: prepared, veto: nil)
            } catch {
                throw await end(send, throwing: error)
            }
            if receiver.hasDroppedEvent { await report(.unfinishedEvent, of: send) }
            let method = prepared.outgoing.method
            let produced = try await finish(accepted, of: EndOfStream(), prepared, as: send, .background) {
                try await self.response(to: prepared, veto: nil, insteadOf: $0)
            }
            // An interceptor may have responded itself, and a response without content has no chunks.
            var response = produced.accepted.response
            let chunks = ResponseBody(response.body).chunks
            response.body = Data()
            receiver.opened.deliver(
                .success(StreamReceiver.Opening(response: response, method: method, chunks: chunks))
            )
        } catch {
            receiver.opened.deliver(.failure(error))
            throw error
        }
    }
}
