import Errand
import Foundation

extension Cassette {
    /// Sends a request, and records it with its response once that is complete.
    func record(
        _ request: OutgoingRequest,
        as entry: CassetteEntry,
        _ names: CassetteSecretNames,
        _ options: TransportOptions
    ) async throws -> TransportResponse {
        guard mayRecord else {
            throw CassetteError(
                "\(key(entry, names)?.place ?? "") is not in \(file.lastPathComponent), and nothing is recorded where CI is set: "
                    + "record it on your machine, and commit the file"
            )
        }
        try refuseStandIns(in: entry, names)
        let place = state.withLock { state in
            state.pending += 1
            defer { state.next += 1 }
            return state.next
        }
        let end: @Sendable () -> Void = { self.state.withLock { $0.pending -= 1 } }
        do {
            var response = try await transport.send(request, options: options)
            if let whole = response.body.whole {
                var entry = entry
                entry.set(response, whole, chunks: nil)
                try add(entry, at: place, names)
                end()
            } else {
                let header = response
                response.body = ResponseBody(
                    chunks: RecordingChunks(response.body.chunks) { body, chunks, ending in
                        defer { end() }
                        var entry = entry
                        entry.set(header, body, chunks: chunks, ending: ending)
                        do {
                            try self.add(entry, at: place, names)
                        } catch {
                            self.state.withLock { $0.failure = $0.failure ?? error }
                            throw error
                        }
                    }
                )
            }
            return response
        } catch {
            end()
            throw error
        }
    }

    /// Waits until all responses are in the file, for at most 5 seconds.
    ///
    /// A stream that its reader leaves with `break` is recorded shortly afterwards, so call this before a test reads or replays
    /// the file. The trait `cassette` calls it after each test. A stream that is still being read is not recorded yet.
    ///
    /// - Throws: The first error of writing the response of a stream, which a reader that has left did not get.
    public func finish() async throws {
        let end = ContinuousClock.now + .seconds(5)
        while state.withLock({ $0.pending > 0 }), ContinuousClock.now < end, !Task.isCancelled {
            // The loop ends if the task is cancelled.
            try? await Task.sleep(for: .milliseconds(5))
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Throws an error if a request contains a stand-in of the file, which its service does not know.
    private func refuseStandIns(in entry: CassetteEntry, _ names: CassetteSecretNames) throws(CassetteError) {
        guard mode == .recordMissing else { return }
        var recorded = CassetteSecrets(count: 0, uniform: "any")
        for var entry in state.withLock({ $0.secrets.count == 0 ? [] : $0.entries }) {
            recorded.replace(in: &entry, named: names)
        }
        let body = String(decoding: entry.requestBody, as: UTF8.self)
        let texts = [entry.request.url, body] + entry.request.headers.map(\.value)
        for standIn in recorded.standIns.keys
        where standIn.utf8.count >= 6 && texts.contains(where: { $0.contains(standIn) }) {
            throw CassetteError(
                "\(key(entry, names)?.place ?? "") is not in \(file.lastPathComponent), and is sent with a value from there that "
                    + "is in place of a secret, which the service does not know: record the complete file again with the mode "
                    + ".record"
            )
        }
    }

    private func add(_ entry: CassetteEntry, at place: Int, _ names: CassetteSecretNames) throws {
        var added: (file: CassetteFile, number: Int)?
        while added == nil {
            // Secrets are replaced outside the lock, again if another entry was added meanwhile.
            var (entry, entries, secrets, number) = state.withLock { (entry, $0.entries, $0.secrets, $0.snapshot) }
            let count = secrets.count
            secrets.replace(in: &entry, named: names)
            if secrets.count > count {
                for index in entries.indices { secrets.replaceKnown(in: &entries[index]) }
            }
            added = state.withLock { state in
                guard state.snapshot == number else { return nil }
                let index = state.order.firstIndex { $0 > place } ?? state.order.count
                (state.entries, state.secrets) = (entries, secrets)
                state.entries.insert(entry, at: index)
                state.order.insert(place, at: index)
                state.isPlayed.insert(true, at: index)
                state.snapshot += 1
                state.keys = nil
                var file = CassetteFile()
                (file.log.entries, file.log._standIns) = (state.entries, secrets.count)
                return (file, state.snapshot)
            }
        }
        guard let added else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(added.file)
        try written.withLock { written in
            // A newer one has everything that this one has.
            guard added.number > written else { return }
            let folder = self.file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try bytes.write(to: self.file, options: .atomic)
            written = added.number
        }
    }
}

/// Chunks that are recorded while they are read, complete or as far as their reader wants them.
private final class RecordingChunks: ResponseChunks {
    /// Adds a body, the sizes of its chunks, and how it ended if it is not complete.
    typealias Add = @Sendable (Data, [Int], CassetteEnding?) throws -> Void

    private struct State {
        var body = Data()
        var sizes: [Int] = []
        var isTooLarge = false
        var isOver = false
    }

    /// The size above which a body is not recorded: 64 MiB.
    private static let maximumByteCount = 64 << 20

    private let chunks: any ResponseChunks
    private let add: Add
    private let state = Lock(State())

    init(_ chunks: any ResponseChunks, _ add: @escaping Add) { (self.chunks, self.add) = (chunks, add) }

    // A body that nobody reads has not been cancelled. `finish()` of the cassette throws the error.
    deinit { try? finish(.left) }

    func next() async throws -> Data? {
        let next: Data?
        do {
            next = try await chunks.next()
        } catch {
            // The reader gets the error of the exchange.
            try? finish((error as? NetworkError).map { $0.reason == .connectionReset ? .reset : .cut } ?? .left)
            throw error
        }
        guard let chunk = next else {
            try finish(nil)
            return nil
        }
        state.withLock { state in
            state.isTooLarge = state.isTooLarge || state.body.count + chunk.count > Self.maximumByteCount
            if state.isTooLarge {
                (state.body, state.sizes) = (Data(), [])
            } else {
                state.body.append(chunk)
                state.sizes.append(chunk.count)
            }
        }
        return chunk
    }

    func cancel() {
        chunks.cancel()
        // Its reader has ended; `finish()` of the cassette throws the error.
        try? finish(.left)
    }

    private func finish(_ ending: CassetteEnding?) throws {
        let recorded = state.withLock { state -> State? in
            defer { state.isOver = true }
            return state.isOver ? nil : state
        }
        guard let recorded else { return }
        try add(recorded.body, recorded.sizes, recorded.isTooLarge ? .tooLarge : ending)
    }
}
