import Foundation

@testable import Errand

/// A body that a test sends chunk by chunk, and that knows whether it is read, and whether it was cancelled.
final class PushedBody: ResponseChunks {
    private let stream: AsyncThrowingStream<Data, any Error>
    private let writer: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Lock((isRead: false, isCancelled: false))

    init() { (stream, writer) = AsyncThrowingStream.makeStream(of: Data.self) }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    /// A response with server-sent events.
    var events: TransportResponse { response(headers: ["Content-Type": "text/event-stream"]) }

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
