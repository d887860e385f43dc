internal import Foundation

// Stage 6: what becomes of a response's body.

extension PreparedRequest {
    /// Reads the body of a response into memory, or lets its receiver take it if the response is accepted.
    ///
    /// - Returns: The status for the following stages, and the bytes in memory.
    func read(
        _ response: TransportResponse,
        to outgoing: OutgoingRequest,
        _ isRedirected: Bool
    ) async throws -> (status: Int, body: Data) {
        guard let receiver, accepts(response, to: outgoing, for: receiver) || receiver.takesRejected(response) else {
            let limit = resolved.maximumBodySize.value ?? .max
            return (response.statusCode, try await collect(response, upTo: limit))
        }
        var report: BodyReceiver.ProgressReport?
        if !accessories.isEmpty {
            report = { [accessories, context] in
                await accessories.notify(.didProgress($0), of: context, isFile: !receiver.isStream)
            }
        }
        let head = RawResponse(statusCode: response.statusCode, headers: response.headers, url: outgoing.url)
        context.beginning?.notify(head)
        // A stream may be interrupted, or last for hours.
        if hasCache, !outgoing.method.isSafe { invalidate(by: head, to: outgoing, isFirst: !isRedirected) }
        return (try await receiver.receive(response, to: outgoing, report: report), Data())
    }

    /// Whether a header section promises the content that the receiver is for.
    private func accepts(
        _ response: TransportResponse,
        to outgoing: OutgoingRequest,
        for receiver: any BodyReceiver
    ) -> Bool {
        let status = receiver.judgedStatus(of: response)
        guard status / 100 == 2 else { return false }
        let head = RawResponse(statusCode: status, headers: response.headers, url: outgoing.url)
        return acceptance.failure(of: head, hasBody: true) == nil
    }
}
