internal import Foundation

extension FileReceiver {
    func judgedStatus(of response: TransportResponse) -> Int {
        response.statusCode == 206 && hasRequestedPart ? 200 : response.statusCode
    }

    func takesRejected(_ response: TransportResponse) -> Bool { response.statusCode == 416 && hasRequestedPart }
    private var hasRequestedPart: Bool { withState { $0.offset != nil } }

    func receive(
        _ response: TransportResponse,
        _ head: RawResponse,
        to request: OutgoingRequest,
        of send: any ReceivedSend,
        report: ProgressReport?
    ) async throws -> Int {
        let chunks = response.body.chunks
        let isAlone = withState { state in
            defer { state.isReceiving = true }
            return !state.isReceiving
        }
        guard isAlone else {
            chunks.cancel()
            throw NetworkError(.other("the file has a response already: an interceptor sent the request again"))
        }
        defer { withState { $0.isReceiving = false } }
        do {
            if try begin(response, to: request, of: send) {
                chunks.cancel()
            } else {
                try await read(chunks, report)
            }
            try await finish(response, report)
            // The content is complete now, whatever part of it this response had.
            return [206, 416].contains(response.statusCode) && hasRequestedPart ? 200 : response.statusCode
        } catch {
            chunks.cancel()
            // What is there would be continued by the next call.
            if case .bodyTooLarge? = (error as? NetworkError)?.reason {
                throw withState { $0.abandon(because: error) }
            }
            throw error
        }
    }

    /// Does what the header section decides.
    ///
    /// - Returns: Whether all bytes are there already.
    private func begin(
        _ response: TransportResponse,
        to request: OutgoingRequest,
        of send: any ReceivedSend
    ) throws -> Bool {
        try withOpenState { state in
            state.end = nil
            // An interceptor has sent the request again after its response was received.
            if state.part == nil { try open(&state) }
            guard let source = state.source, let (part, target) = state.open else { throw CancellationError() }
            let location = request.notes.credential.removed(from: request.url)
            let range = response.headers["Content-Range"] ?? "none"
            if state.offset != nil, state.currentOffset == nil, [206, 416].contains(response.statusCode) {
                state.wantsAnotherResponse = true
                throw NetworkError(.unexpectedRange(range))
            }
            var step =
                state.isPart && (response.statusCode == 206 || !response.headers.statesPart)
                    && !DownloadStep.hasNoContent(response.statusCode)
                ? .replace
                : DownloadStep(
                    statusCode: response.statusCode,
                    headers: response.headers,
                    isAtPlace: part.record?.isOf(location) ?? false,
                    after: state.currentOffset,
                    of: part.record
                )
            // Only what was sent shows whether hooks, or a login on the way, have made it another user's.
            let isOfOtherUser = send.isOfOtherUser
            if isOfOtherUser, [.append, .complete].contains(step) { step = .discard }
            if step == .complete, part.length > state.limit { throw NetworkError(.bodyTooLarge(limit: state.limit)) }
            switch step {
            case .append:
                try target.check(named: part.record?.fileName, options)
                if let range = ContentRange(range) {
                    state.end = Int64(range.positions.upperBound)
                    if let length = range.completeLength { part.note(length: Int64(length)) }
                }
            case .replace:
                var record = DownloadRecord(
                    of: isOfOtherUser ? nil : source.content,
                    at: location,
                    headers: response.headers,
                    statusCode: response.statusCode,
                    fileName: target.isFolder
                        ? FileName(of: response.headers, from: location, request.notes.declared).text : nil
                )
                try target.check(named: record.fileName, options)
                // Of other requests, the rest cannot be requested alone.
                if !state.mayResume { record.validator = nil }
                if request.method == .head { record.length = nil }
                try part.restart(record)
                state.found = 0
            case .complete: return true
            case .discard:
                try part.discard()
                state.found = 0
                state.wantsAnotherResponse = true
                throw NetworkError(.unexpectedRange(range))
            case .reject(let reason): throw NetworkError(reason)
            }
            let total = part.record?.length ?? options.byteCount
            if total ?? 0 > state.limit { throw NetworkError(.bodyTooLarge(limit: state.limit)) }
            if let total, let expected = options.byteCount, total != expected {
                throw state.abandon(
                    because: NetworkError(.unexpectedLength(expected, "the server declares \(total)"))
                )
            }
            if state.steps.total != total {
                state.steps = ProgressSteps(direction: .download, total: total, includesSmall: true)
            }
            return false
        }
    }

    private func read(_ chunks: any ResponseChunks, _ report: ProgressReport?) async throws {
        while let chunk = try await chunks.next() {
            try Task.checkCancellation()
            let progress: TransferProgress? = try withOpenState { state in
                guard let part = state.part else { throw CancellationError() }
                let length = part.length + Int64(chunk.count)
                if let end = state.end, length > end {
                    // The rest would be requested again, and sent in the same way.
                    throw state.abandon(because: NetworkError(.unexpectedRange("\(length) bytes in place of \(end)")))
                }
                if length > state.limit { throw NetworkError(.bodyTooLarge(limit: state.limit)) }
                if let limit = options.byteCount ?? part.record?.length, length > limit {
                    throw state.abandon(
                        because: NetworkError(.unexpectedLength(limit, "the server sends at least \(length)"))
                    )
                }
                try part.append(chunk)
                return report == nil ? nil : state.steps.progress(at: part.length)
            }
            if let progress, let report { await report(progress) }
        }
    }

    /// Checks the bytes, and moves the file to its target.
    private func finish(_ response: TransportResponse, _ report: ProgressReport?) async throws {
        let (file, last) = try withOpenState { state -> (OpenFile, TransferProgress?) in
            guard let part = state.part else { throw CancellationError() }
            if let length = part.record?.length, part.length < length { throw NetworkError(.closedInBody) }
            do { try check(part) } catch { throw state.abandon(because: error) }
            return (part.file, state.steps.last(at: part.length))
        }
        try await file.synchronized()
        try Task.checkCancellation()
        try withOpenState { state in
            guard let (part, target) = state.open else { throw CancellationError() }
            let path = try target.finish(part, named: part.record?.fileName, options)
            state.file = DownloadedFile(part, at: path, resuming: state.found, headers: response.headers)
            state.part = nil
        }
        if let last, let report { await report(last) }
    }

    private func check(_ part: PartialFile) throws(NetworkError) {
        if let expected = options.byteCount, part.length != expected {
            throw NetworkError(.unexpectedLength(expected, "\(part.length) were downloaded"))
        }
        if let expected = options.sha256?.lowercased(), let actual = part.digest, actual != expected {
            throw NetworkError(
                .unexpectedContent(
                    "the file has the SHA-256 \(actual), and \(expected.shortened(to: 100)) was expected; it was removed"
                )
            )
        }
    }

    // MARK: A response that was not received

    /// Stores the bytes of a response that an interceptor made, which was not received.
    func store(_ payload: Payload) throws -> DownloadedFile {
        try withState { state in
            state.part = nil
            let target = try state.target ?? DownloadTarget(url)
            let name = FileName(of: payload.headers ?? [:], from: state.source?.url ?? url, state.source?.declared).text
            let path: String
            let part = try target.part(named: name, isHashed: options.sha256 != nil)
            do {
                try part.discard()
                try part.append(payload.data)
                try check(part)
                path = try target.finish(part, named: name, options)
            } catch {
                part.abandon()
                throw error
            }
            let file = DownloadedFile(part, at: path, resuming: 0, headers: payload.headers ?? [:])
            state.file = file
            return file
        }
    }
}
