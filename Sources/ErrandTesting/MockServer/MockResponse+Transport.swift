public import Errand
import Foundation

extension MockFault {
    /// Faults that a ``StubTransport`` can have too, for ``MockService/faults(seed:rate:of:)``: a connection that is reset or
    /// closed before a response, and a body that is cut.
    ///
    /// A fault of the body needs a body.
    public static let ofStubs: [MockFault] = [
        .resetBeforeHead, .closeBeforeHead, .resetInBody(after: 5), .closeInBody(after: 5),
    ]
}

extension MockResponse: Error {}

extension MockResponse {
    /// Creates a response whose body the test sends, chunked.
    ///
    /// - Parameters:
    ///   - stream: The body.
    ///   - contentType: The type of the body; server-sent events by default.
    public init(_ stream: MockStream, contentType: String = "text/event-stream") {
        self.init(headers: ["Content-Type": contentType])
        self.stream = stream
    }

    /// Returns a response with a value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value, which a ``LosslessJSONEncoder`` encodes.
    ///   - status: The status code.
    ///   - headers: Further header fields.
    /// - Returns: The response.
    /// - Throws: `EncodingError`, or an error of the value's own `encode(to:)`.
    public static func json(
        encoding value: some Encodable,
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) throws -> MockResponse {
        let body = try LosslessJSONEncoder().encode(value)
        return data(body, contentType: "application/json", status: status, headers: headers)
    }

    /// Returns the response of a stub after its delay, or throws its fault.
    ///
    /// - Parameter method: The method of the request.
    /// - Returns: The response.
    /// - Throws: The failure that the fault is, or `CancellationError`.
    func transported(to method: HTTPMethod) async throws -> TransportResponse {
        if delay > .zero { try await Task.sleep(for: delay) }
        return try await fault.applied {
            var response = TransportResponse(statusCode: status, headers: headers)
            if mayHaveBody, method != .head { response.body = stubBody }
            return response
        }
    }

    private var stubBody: ResponseBody {
        if let stream { return ResponseBody(chunks: stream.connect()) }
        guard let size = drip?.byteCount ?? (isChunked ? chunkByteCount : nil) else { return ResponseBody(body) }
        return ResponseBody(chunks: StubChunks(body, of: size, every: drip?.interval ?? .zero))
    }
}

extension MockFault? {
    /// Returns what the client of a stub receives of a response.
    ///
    /// - Parameter response: Returns the response; it is not called for a fault before it.
    /// - Returns: The response, whose body may fail.
    /// - Throws: The failure that the fault is, or `CancellationError`.
    func applied(to response: () -> TransportResponse) async throws -> TransportResponse {
        switch self {
        case nil, .closeAfterResponse?: return response()
        case .resetBeforeHead?: throw NetworkError(.connectionReset)
        case .closeBeforeHead?: throw NetworkError(.closedWithoutResponse)
        case .resetInBody(let count)?: return response().cut(after: count, .connectionReset)
        case .closeInBody(let count)?: return response().cut(after: count, .closedInBody)
        case .hang?:
            try await Task.sleep(for: .seconds(86_400))
            throw NetworkError(.closedWithoutResponse)
        case let fault?:
            throw MockEncodingError(
                "a StubTransport has no fault \(fault), which is one of bytes on a wire: use a MockServer"
            )
        }
    }
}

extension TransportResponse {
    fileprivate func cut(after count: Int, _ failure: NetworkError.Reason) -> TransportResponse {
        var response = self
        response.body = ResponseBody(chunks: CutChunks(body.chunks, after: count, failure))
        return response
    }
}

/// The first bytes of a body, and a failure.
private final class CutChunks: ResponseChunks {
    private let chunks: any ResponseChunks
    private let rest: Lock<Int>
    private let failure: NetworkError.Reason

    init(_ chunks: any ResponseChunks, after count: Int, _ failure: NetworkError.Reason) {
        (self.chunks, rest, self.failure) = (chunks, Lock(count), failure)
    }

    func next() async throws -> Data? {
        let limit = rest.withLock { $0 }
        guard limit > 0, let chunk = try await chunks.next() else { throw NetworkError(failure) }
        rest.withLock { $0 -= chunk.count }
        return Data(chunk.prefix(limit))
    }

    func cancel() { chunks.cancel() }
}

/// The chunks of a body that is known, with the pauses between them.
private final class StubChunks: ResponseChunks {
    private let rest: Lock<Data>
    private let size: Int
    private let interval: Duration

    init(_ body: Data, of size: Int, every interval: Duration) {
        (rest, self.size, self.interval) = (Lock(body), max(1, size), interval)
    }

    func next() async throws -> Data? {
        let (chunk, isLast) = rest.withLock { rest in
            // A slice, because a copy of the rest for each chunk takes quadratic time.
            defer { rest = rest.dropFirst(size) }
            return (Data(rest.prefix(size)), rest.count <= size)
        }
        if !isLast, interval > .zero { try await Task.sleep(for: interval) }
        return chunk.isEmpty ? nil : chunk
    }

    func cancel() { rest.withLock { $0 = Data() } }
}
