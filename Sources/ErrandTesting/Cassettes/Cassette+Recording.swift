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
        let place = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        var response = try await transport.send(request, options: options)
        let header = response
        let add: RecordingChunks.Add = { body, chunks, isPartial in
            var entry = entry
            entry.set(header, body, chunks: chunks, isPartial: isPartial)
            try self.add(entry, at: place, names)
        }
        if let whole = response.body.whole {
            try add(whole, nil, false)
        } else {
            response.body = ResponseBody(chunks: RecordingChunks(response.body.chunks, add))
        }
        return response
    }

    private func add(_ entry: CassetteEntry, at place: Int, _ names: CassetteSecretNames) throws {
        let (file, number) = state.withLock { state -> (CassetteFile, Int) in
            var entry = entry
            let count = state.secrets.count
            state.secrets.replace(in: &entry, named: names)
            if state.secrets.count > count {
                for index in state.entries.indices { state.secrets.replaceKnown(in: &state.entries[index]) }
            }
            let index = state.order.firstIndex { $0 > place } ?? state.order.count
            state.entries.insert(entry, at: index)
            state.order.insert(place, at: index)
            state.isPlayed.insert(true, at: index)
            state.snapshot += 1
            state.keys = nil
            var file = CassetteFile()
            (file.log.entries, file.log._standIns) = (state.entries, state.secrets.count)
            return (file, state.snapshot)
        }
        try written.withLock { written in
            // A newer one has everything that this one has.
            guard number > written else { return }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let folder = self.file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try encoder.encode(file).write(to: self.file, options: .atomic)
            written = number
        }
    }
}

/// Chunks that are recorded while they are read, complete or as far as their reader wants them.
private final class RecordingChunks: ResponseChunks {
    /// Adds a body, the sizes of its chunks, and whether there was more.
    typealias Add = @Sendable (Data, [Int]?, Bool) throws -> Void

    private struct State {
        var body = Data()
        var sizes: [Int] = []
        var isOver = false
    }

    /// The size above which a body is not recorded: 64 MiB.
    private static let maximumByteCount = 64 << 20

    private let chunks: any ResponseChunks
    private let add: Add
    private let state = Lock(State())

    init(_ chunks: any ResponseChunks, _ add: @escaping Add) { (self.chunks, self.add) = (chunks, add) }

    func next() async throws -> Data? {
        guard let chunk = try await chunks.next() else {
            try finish(isPartial: false)
            return nil
        }
        let count = state.withLock { state in
            state.body.append(chunk)
            state.sizes.append(chunk.count)
            return state.body.count
        }
        guard count <= Self.maximumByteCount else {
            chunks.cancel()
            throw CassetteError("a body of more than \(Self.maximumByteCount) bytes is not recorded")
        }
        return chunk
    }

    func cancel() {
        chunks.cancel()
        // Its reader has ended, and gets no error any more.
        try? finish(isPartial: true)
    }

    private func finish(isPartial: Bool) throws {
        let recorded = state.withLock { state -> State? in
            defer { state.isOver = true }
            return state.isOver ? nil : state
        }
        if let recorded { try add(recorded.body, recorded.sizes, isPartial) }
    }
}
