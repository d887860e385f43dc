internal import Dispatch
internal import Foundation
internal import Synchronization

/// Receives a body into a file, across attempts and from where an earlier download ended.
final class FileReceiver: BodyReceiver, StoppableExchange {
    struct State {
        /// The place of the finished file, or `nil` before the first attempt.
        var target: DownloadTarget?
        /// The request of the first attempt; later ones, at mirrors too, are for the same file.
        var source: Source?
        /// The maximum size of the file.
        var limit = Int.max
        /// The unfinished file, or `nil` before the first attempt and after the last.
        var part: PartialFile?
        /// The first position that the current attempt requests, or `nil` if it requests all.
        var offset: Int64?
        /// Whether the request has a `Range` of its own.
        var isPart = false
        /// The position after the part that the response declares to have, or `nil` if it has the complete content.
        var end: Int64?
        /// Whether the rest of the content may be requested alone.
        var mayResume = false
        var wantsAnotherResponse = false
        /// Whether a response is being written.
        var isReceiving = false
        /// The number of bytes of an earlier download.
        var found: Int64 = 0
        var steps = ProgressSteps(direction: .download, total: nil, includesSmall: true)
        var file: DownloadedFile?

        /// The first requested position if the bytes still end there: interceptors may send a request more than once.
        var currentOffset: Int64? {
            offset.flatMap { offset in part.map { $0.isResumable && $0.length == offset } ?? false ? offset : nil }
        }

        /// Removes the unfinished file, and returns the error to throw.
        mutating func abandon(because error: any Error) -> any Error {
            part?.abandon()
            part = nil
            return error
        }

        /// The unfinished file and its place, or `nil` if the send has ended.
        var open: (part: PartialFile, target: DownloadTarget)? {
            if let part, let target { (part, target) } else { nil }
        }
    }

    struct Source {
        let url: URL
        let declared: DeclaredPath?
        /// The name of the unfinished file in a folder.
        let partName: String
        let content: DownloadRecord.Content?
    }

    let url: URL
    let options: DownloadOptions
    private let state = Lock(State())
    /// Whether the send has ended.
    private let hasEnded = Atomic(false)

    /// - Throws: ``NetworkError`` if an option can't be used.
    init(to url: URL, _ options: DownloadOptions) throws(NetworkError) {
        try options.check()
        (self.url, self.options) = (url, options)
    }

    var received: (any Sendable)? { withState { $0.file } }
    var allowsRetry: Bool { true }
    var wantsAnotherResponse: Bool { withState { $0.wantsAnotherResponse } }

    // MARK: The request

    func willAttempt(_ request: inout OutgoingRequest, of send: any ReceivedSend) async throws {
        if !request.headers.contains("Accept-Encoding") { request.headers["Accept-Encoding"] = "identity" }
        try await open(request, of: send)
        while try withOpenState({ try $0.part?.hashEarlierBytes() ?? false }) {
            try Task.checkCancellation()
            await Task.yield()
        }
        let range: (offset: Int64, validator: String)? = try withOpenState { state in
            guard state.mayResume, let part = state.part, part.isResumable, let validator = part.record?.validator
            else { return nil }
            state.offset = part.length
            return (part.length, validator)
        }
        guard let range else { return }
        request.headers["Range"] = "bytes=\(range.offset)-"
        request.headers["If-Range"] = range.validator
    }

    /// The number of times that a locked file is tried, 50 ms apart: who had it may just have been cancelled.
    private static let tryCount = 20

    /// Opens the unfinished file; not before the first attempt, because a disk may take its time.
    private func open(_ request: OutgoingRequest, of send: any ReceivedSend) async throws {
        let shownPath = request.notes.declared?.shown ?? request.url.path()
        let digest = request.url.nameDigest(path: shownPath, without: send.secrets)
        let source = Source(
            url: request.url,
            declared: request.notes.declared,
            partName: "\(FileName(of: [:], from: request.url, request.notes.declared).text)-\(digest)",
            content: DownloadRecord.Content(of: send, at: request.url)
        )
        for number in 1... {
            try Task.checkCancellation()
            do {
                return try withOpenState { state in
                    state.source = state.source ?? source
                    (state.file, state.offset, state.wantsAnotherResponse) = (nil, nil, false)
                    state.limit = send.maximumBodySize
                    state.isPart = request.headers.contains("Range")
                    state.mayResume = request.method == .get && !state.isPart
                    if state.part == nil { try open(&state) }
                }
            } catch let error as NetworkError {
                guard case .downloadInProgress = error.reason, number < Self.tryCount else { throw error }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    func open(_ state: inout State) throws {
        guard let source = state.source else { throw CancellationError() }
        let target = try state.target ?? DownloadTarget(url)
        let part = try target.part(of: source.content, inFolder: source.partName, isHashed: options.sha256 != nil)
        (state.target, state.part, state.found) = (target, part, part.length)
    }

    // MARK: The end

    func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        releaseIfEnded()
    }

    /// Releases the file because the send has to end; whoever ends it does not wait for a disk.
    func stop() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        DispatchQueue.global().async { self.releaseIfEnded() }
    }

    /// Releases the file after the end of the send, unless a thread uses it, which then does that.
    private func releaseIfEnded() {
        guard hasEnded.load(ordering: .sequentiallyConsistent) else { return }
        _ = state.withLockIfAvailable { $0.part = nil }
    }

    // MARK: The state

    /// Changes the state, and releases the file if the send has ended.
    func withState<Value, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { releaseIfEnded() }
        return try state.withLock(body)
    }

    /// Changes the state, unless the send has ended.
    func withOpenState<Value>(_ body: (inout State) throws -> Value) throws -> Value {
        try withState { state in
            if hasEnded.load(ordering: .sequentiallyConsistent) { throw CancellationError() }
            return try body(&state)
        }
    }
}
