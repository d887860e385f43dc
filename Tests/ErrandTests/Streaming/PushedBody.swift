import Foundation

@testable import Errand

/// A body that a test sends chunk by chunk.
final class PushedBody: ResponseChunks {
    private struct State {
        var isRead = false
        var isCancelled = false
    }

    private let stream: AsyncThrowingStream<Data, any Error>
    private let writer: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Lock(State())

    init() { (stream, writer) = AsyncThrowingStream.makeStream(of: Data.self) }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func response(headers: HTTPHeaders = [:], status: Int = 200) -> TransportResponse {
        TransportResponse(statusCode: status, headers: headers, body: ResponseBody(chunks: self))
    }

    func send(_ text: String) { send(Data(text.utf8)) }
    func send(_ data: Data) { writer.yield(data) }
    func end(throwing error: (any Error)? = nil) { writer.finish(throwing: error) }

    func waitUntilCancelled() async {
        while !isCancelled { await Task.yield() }
    }

    func waitForReader() async {
        while !state.withLock({ $0.isRead }) { await Task.yield() }
    }

    func next() async throws -> Data? {
        state.withLock { $0.isRead = true }
        var iterator = stream.makeAsyncIterator()
        let data = try await iterator.next()
        if data == nil { try Task.checkCancellation() }
        return data
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        writer.finish(throwing: CancellationError())
    }
}

/// The events of sends, by name.
final class StreamLog: Accessory {
    let names = Record<String>()
    let progress = Record<TransferProgress>()

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        if case .didProgress(let progress) = event { self.progress.add(progress) }
        names.add(String("\(event)".prefix { $0 != "(" }))
    }
}
