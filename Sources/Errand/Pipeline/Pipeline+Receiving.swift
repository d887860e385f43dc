internal import Foundation

// Stage 6: receives a response's body.

extension PreparedRequest {
    /// Reads the body of a response into memory, or lets its receiver take it if the response is accepted.
    ///
    /// - Parameters:
    ///   - response: The response, whose body has not been read.
    ///   - outgoing: The request that was sent.
    ///   - redirects: The redirects that led to the request.
    ///   - timeline: The clock of the agent.
    ///   - began: The time of the request.
    /// - Returns: The response for the following stages, with the bytes in memory.
    /// - Throws: ``NetworkError``, an error of the receiver, or `CancellationError`.
    func read(
        _ response: TransportResponse,
        to outgoing: OutgoingRequest,
        after redirects: [Redirect],
        on timeline: Timeline,
        since began: Duration
    ) async throws -> RawResponse {
        func raw(_ bytes: Data) -> RawResponse {
            RawResponse(response, response.statusCode, bytes, to: outgoing, after: redirects, timeline, began)
        }
        let isTaken = receiver != nil && accepts(response, to: outgoing)
        guard let receiver, isTaken && takesAccepted(response) || receiver.takesRejected(response) else {
            if let bytes = wholeBody(of: response) {
                return raw(bytes)
            }
            let body = try await content(of: response, to: outgoing, isTaken: isTaken, on: timeline)
            var read = raw(body.bytes)
            if let failure = body.failure { read.notes.value.bodyFailure = failure }
            return read
        }
        return try await receive(response, by: receiver, to: outgoing, after: redirects, on: timeline, since: began)
    }

    /// Lets a receiver take the body of a response.
    @inline(never)
    private func receive(
        _ response: TransportResponse,
        by receiver: any BodyReceiver,
        to outgoing: OutgoingRequest,
        after redirects: [Redirect],
        on timeline: Timeline,
        since began: Duration
    ) async throws -> RawResponse {
        var report: BodyReceiver.ProgressReport?
        if !accessories.isEmpty {
            report = { [accessories, context] in
                await accessories.notify(.didProgress($0), of: context, isFile: !receiver.isStream)
            }
        }
        var head = RawResponse(response, response.statusCode, Data(), to: outgoing, after: redirects)
        if !redirects.isEmpty { head.notes.value.redirects = redirects }
        context.beginning?.notify(head)
        // A stream may be interrupted, or last for hours.
        if hasCache, !outgoing.method.isSafe { invalidate(by: head, to: outgoing, isFirst: redirects.isEmpty) }
        let status = try await receiver.receive(response, head, to: outgoing, of: self, report: report)
        return RawResponse(response, status, Data(), to: outgoing, after: redirects, timeline, began)
    }

    /// Reads a body into memory; if the response is rejected by its header section, as much as can be received and decoded.
    ///
    /// - Returns: The bytes, and why they are not all, or `nil` if they are.
    @inline(never)
    private func content(
        of response: TransportResponse,
        to outgoing: OutgoingRequest,
        isTaken: Bool,
        on timeline: Timeline
    ) async throws -> (bytes: Data, failure: (any Error)?) {
        if let (size, time) = beginning(of: response, isTaken: isTaken) {
            return try await response.body.beginning(upTo: size, within: time, on: timeline)
        }
        let limit = maximumCollectedSize
        if response.body.whole.map({ $0.count <= limit }) == true || accepts(response, to: outgoing) {
            return (try await collect(response, upTo: limit), nil)
        }
        let (bytes, failure) = try await response.body.beginning(upTo: max(0, limit), within: nil, on: timeline)
        if let failure, (failure as? NetworkError)?.reason.isOfContent != true { throw failure }
        return (failure == nil ? bytes : Data(bytes.prefix(NetworkError.maximumBodyByteCount)), failure)
    }

    /// The maximum size and time for the beginning of a body that may never end, or `nil` if it has to be read to its end: that
    /// of a redirect, or of a response that is rejected in place of a stream or a file.
    private func beginning(of response: TransportResponse, isTaken: Bool) -> (size: Int, time: Duration)? {
        guard response.body.whole == nil else { return nil }
        let size = NetworkError.maximumBodyByteCount
        if isRedirect(response) { return (size, .seconds(1)) }
        guard let receiver, !isTaken else { return nil }
        if receiver.isStream { return (size, .seconds(1)) }
        // A filter has to see the error of the service, whatever its length.
        return (min(max(0, maximumCollectedSize), 4 << 20), .seconds(5))
    }

    private var maximumCollectedSize: Int { settings.maximumBodySize.value ?? .max }

    /// Returns the bytes of a body that is in memory, or `nil` if it has to be waited for or reported, or exceeds the limit.
    private func wholeBody(of response: TransportResponse) -> Data? {
        guard accessories.isEmpty, let whole = response.body.whole else { return nil }
        return whole.count <= maximumCollectedSize ? whole : nil
    }

    private func isRedirect(_ response: TransportResponse) -> Bool {
        settings.redirectPolicy.value.location(of: response.statusCode, response.headers) != nil
    }

    /// Whether a header section is that of a response with the requested content.
    private func accepts(_ response: TransportResponse, to outgoing: OutgoingRequest) -> Bool {
        if isRedirect(response) { return false }
        let status = receiver?.judgedStatus(of: response) ?? response.statusCode
        let head = RawResponse(statusCode: status, headers: response.headers, url: outgoing.url)
        return acceptance.failure(of: head, hasBody: true) == nil
    }

    /// Whether the receiver takes an accepted response; for a file, a filter first sees the error of the service.
    private func takesAccepted(_ response: TransportResponse) -> Bool {
        response.statusCode / 100 == 2 || receiver?.isStream == true || settings.filter.source == .library
    }
}

extension RawResponse {
    fileprivate init(
        _ response: TransportResponse,
        _ status: Int,
        _ body: Data,
        to request: OutgoingRequest,
        after redirects: [Redirect]
    ) {
        let url = request.url.withFragment(of: redirects.last?.to)
        self.init(statusCode: status, headers: response.headers, body: body, url: url)
        if !request.notes.credential.isEmpty { notes.value.credential = request.notes.credential }
        notes.value.declared = request.notes.declared
    }

    /// Creates the response to a request whose body has been read.
    fileprivate init(
        _ response: TransportResponse,
        _ status: Int,
        _ body: Data,
        to request: OutgoingRequest,
        after redirects: [Redirect],
        _ timeline: Timeline,
        _ began: Duration
    ) {
        let elapsed = timeline.now() - began
        let times = response.timings
        self.init(response, status, body, to: request, after: redirects)
        notes.value.method = request.method
        notes.value.timing = ExchangeTiming(
            firstByte: times.startedMoment.flatMap { started in times.headersReceivedMoment.map { $0 - started } },
            transfer: times.headersReceivedMoment.flatMap { start in times.finishedMoment.map { $0 - start } },
            total: elapsed,
            statusCode: response.statusCode,
            connection: response.sharedConnection,
            start: timeline.date() - elapsed.timeInterval
        )
    }
}
