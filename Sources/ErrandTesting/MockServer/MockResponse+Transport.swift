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
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - willRead: Called with the reader of a stream before that can receive anything, and throws if the send was cancelled.
    /// - Returns: The response.
    /// - Throws: The failure that the fault is, or `CancellationError`.
    func transported(
        to method: HTTPMethod,
        willRead: (MockStreamReader) throws -> Void
    ) async throws -> TransportResponse {
        if delay > .zero { try await Task.sleep(for: delay) }
        var response = TransportResponse(statusCode: status, headers: headers)
        let isEmpty = !mayHaveBody || method == .head
        switch fault {
        case nil, .closeAfterResponse?:
            if isEmpty { break }
            guard let stream else {
                response.body = stubBody(body)
                break
            }
            let reader = stream.makeReader()
            try willRead(reader)
            stream.connect(reader)
            response.body = ResponseBody(chunks: reader)
        case .resetBeforeHead?: throw NetworkError(.connectionReset)
        case .closeBeforeHead?: throw NetworkError(.closedWithoutResponse)
        case .resetInBody(let count)?:
            response.body = stubBody(body.prefix(isEmpty ? 0 : max(0, count)), ending: .reset)
        case .closeInBody(let count)?: response.body = stubBody(body.prefix(isEmpty ? 0 : max(0, count)), ending: .cut)
        case .hang?:
            try await Task.sleep(for: .seconds(86_400))
            throw NetworkError(.closedWithoutResponse)
        case let fault?:
            throw MockEncodingError(
                "a StubTransport has no fault \(fault), which is one of bytes on a wire: use a MockServer"
            )
        }
        return response
    }

    private func stubBody(_ body: Data, ending: MockStream.Ending? = nil) -> ResponseBody {
        let size = drip?.byteCount ?? (isChunked ? chunkByteCount : nil)
        guard size != nil || ending != nil else { return ResponseBody(body) }
        return ResponseBody(
            chunks: StubChunks(body, of: size ?? body.count, every: drip?.interval ?? .zero, ending: ending)
        )
    }
}

/// The chunks of a body that is known, with the pauses between them and the failure at its end.
private final class StubChunks: ResponseChunks {
    private let rest: Lock<Data>
    private let size: Int
    private let interval: Duration
    private let ending: MockStream.Ending?

    init(_ body: Data, of size: Int, every interval: Duration, ending: MockStream.Ending?) {
        (rest, self.size, self.interval, self.ending) = (Lock(Data(body)), max(1, size), interval, ending)
    }

    func next() async throws -> Data? {
        let (chunk, isLast) = rest.withLock { rest in
            defer { rest = Data(rest.dropFirst(size)) }
            return (Data(rest.prefix(size)), rest.count <= size)
        }
        if !chunk.isEmpty {
            if !isLast, interval > .zero { try await Task.sleep(for: interval) }
            return chunk
        }
        switch ending {
        case .reset: throw NetworkError(.connectionReset)
        case .cut: throw NetworkError(.closedInBody)
        case .complete, nil: return nil
        }
    }

    func cancel() { rest.withLock { $0 = Data() } }
}
