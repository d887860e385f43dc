internal import Foundation

// Stage 6: the progress of large bodies.

extension PreparedRequest {
    /// Whether the accessories are notified of the progress of the request's body.
    func reportsUpload(of outgoing: OutgoingRequest) -> Bool {
        guard !accessories.isEmpty else { return false }
        guard let byteCount = outgoing.body.byteCount else { return true }
        if byteCount == 0, case .source = outgoing.body { return accessories.observesSmallBodies }
        return byteCount > (accessories.observesSmallBodies ? 0 : ProgressSteps.smallest)
    }

    /// Runs an exchange, and notifies the accessories of the progress of the request's body.
    @inline(never)
    func reportingUpload<Value>(
        of outgoing: OutgoingRequest,
        _ exchange: nonisolated(nonsending) (OutgoingRequest) async throws -> Value
    ) async throws -> Value {
        let total = outgoing.body.byteCount
        let includesSmall = accessories.observesSmallBodies
        let upload = Upload(steps: ProgressSteps(direction: .upload, total: total, includesSmall: includesSmall))
        var watched = outgoing
        watched.body = .source(WatchedBody(base: outgoing.body, upload: upload))
        async let reporting: Void = reportProgress(of: upload)
        let result: Result<Value, any Error>
        do {
            result = .success(try await exchange(watched))
        } catch {
            result = .failure(error)
        }
        // An empty body is not read.
        if total == 0 { upload.didRead(0) }
        upload.end()
        await reporting
        return try result.get()
    }

    private func reportProgress(of upload: Upload) async {
        for await progress in upload.updates { await accessories.notify(.didProgress(progress), of: context) }
    }

    /// Reads a response's body, and notifies the accessories of its progress.
    @inline(never)
    func collect(_ response: TransportResponse, upTo limit: Int) async throws -> Data {
        // The bodies of redirects and failures are no progress.
        let isReported = !accessories.isEmpty && acceptance.statusCodes.contains { $0.contains(response.statusCode) }
        if let whole = try response.body.whole(upTo: limit) {
            let count = Int64(whole.count)
            if isReported, accessories.observesSmallBodies, count > 0 {
                let progress = TransferProgress(direction: .download, completed: count, total: count)
                await accessories.notify(.didProgress(progress), of: context)
            }
            return whole
        }
        guard isReported else { return try await response.body.collect(upTo: limit) }
        // With a content coding, only the encoded length is known.
        let length = response.headers.hasIdentityCoding ? response.headers["Content-Length"] : nil
        let total = length.flatMap { Int($0) }.map(Int64.init).flatMap { $0 > 0 ? $0 : nil }
        let includesSmall = accessories.observesSmallBodies
        var steps = ProgressSteps(direction: .download, total: total, includesSmall: includesSmall)
        let body = try await response.body.collect(upTo: limit) { count in
            if let progress = steps.progress(at: Int64(count)) {
                await accessories.notify(.didProgress(progress), of: context)
            }
        }
        if !body.isEmpty, let last = steps.last(at: Int64(body.count)) {
            await accessories.notify(.didProgress(last), of: context)
        }
        return body
    }
}

/// The number of bytes that were read to be sent, and its progress; a progress that isn't taken in time is replaced by the
/// next.
private final class Upload: Sendable {
    let updates: AsyncStream<TransferProgress>
    private let continuation: AsyncStream<TransferProgress>.Continuation
    private let state: Lock<(steps: ProgressSteps, completed: Int64)>

    init(steps: ProgressSteps) {
        state = Lock((steps, 0))
        (updates, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func restart() {
        state.withLock { state in
            state.completed = 0
            state.steps.restart()
        }
    }

    /// Adds a number of bytes that were read; 0 is the end.
    func didRead(_ count: Int) {
        let progress = state.withLock { state in
            state.completed &+= Int64(count)
            let isLast = count == 0 || state.completed == state.steps.total
            return isLast ? state.steps.last(at: state.completed) : state.steps.progress(at: state.completed)
        }
        if let progress { continuation.yield(progress) }
    }

    /// Ends the progress: no more is read.
    func end() { continuation.finish() }
}

/// A body that reports the number of bytes that were read from it.
private struct WatchedBody: BodySource {
    let base: OutgoingBody
    let upload: Upload

    var byteCount: Int64? { base.byteCount }
    var isReplayable: Bool { base.isReplayable }

    func makeReader() throws -> any BodyReader {
        let reader = try base.makeReader()
        upload.restart()
        return Reader(base: reader, upload: upload)
    }

    private final class Reader: BodyReader {
        private let base: any BodyReader
        private let upload: Upload

        init(base: any BodyReader, upload: Upload) { (self.base, self.upload) = (base, upload) }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let count = try base.read(into: buffer)
            upload.didRead(count)
            return count
        }
    }
}
