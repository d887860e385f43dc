import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct SessionExchangeTests {
    private func exchange() throws -> SessionExchange {
        let url = try #require(URL(string: "http://127.0.0.1/x"))
        let request = OutgoingRequest(method: .put, url: url, body: .data(Data("abc".utf8)))
        return SessionExchange(request: request, options: TransportOptions(), cancellations: SessionCancellations())
    }

    private func firstRead(of stream: InputStream?) -> Int? {
        guard let stream else { return nil }
        stream.open()
        var buffer = [UInt8](repeating: 0, count: 10)
        return stream.read(&buffer, maxLength: buffer.count)
    }

    @Test func bodyIsSentAgainOnAnotherConnection() throws {
        let exchange = try exchange()
        #expect(firstRead(of: exchange.renewedBodyStream()) == 3)
        #expect(!exchange.isCancelled)
    }

    @Test func cancelledExchangeDoesNotSendItsBodyAgain() throws {
        let exchange = try exchange()
        exchange.stop()
        #expect(exchange.isCancelled)
        #expect(firstRead(of: exchange.renewedBodyStream()) == -1)
    }

    /// In a process of its own, whose temporary directory does not exist.
    @Test func aBodyThatCannotBeKeptAsideEndsItsExchange() async {
        await #expect(processExitsWith: .success) {
            alarm(30)
            setenv("TMPDIR", "/no/such/directory", 1)
            let url = try #require(URL(string: "http://127.0.0.1/x"))
            let exchange = SessionExchange(
                request: OutgoingRequest(url: url),
                options: TransportOptions(readAhead: 2 * SpillingChunks.memoryLimit),
                cancellations: SessionCancellations()
            )
            let task = URLSession.shared.dataTask(with: url)
            let header = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
            exchange.receive(headerSection: try #require(header), of: task)
            exchange.receive(Data(count: 3 * SpillingChunks.memoryLimit), of: task)
            let body = try await exchange.response().body
            await #expect(throws: NetworkError.self) { try await body.collect(upTo: .max) }
            guard exchange.isCancelled else { exit(EXIT_FAILURE) }
        }
    }

    #if os(Linux)
    @Test(
        arguments: [
            ("https", 100, true, false), ("https", 100, false, true), ("https", nil, true, true),
            ("https", 2 << 20, true, true), ("http", 100, false, false),
        ] as [(String, Int64?, Bool, Bool)]
    )
    func aBodyThatIsSentAsAStreamOverTLSHasAConnectionOfItsOwn(
        scheme: String,
        byteCount: Int64?,
        isReplayable: Bool,
        isAlone: Bool
    ) throws {
        let url = try #require(URL(string: "\(scheme)://localhost/x"))
        let source = ChunkSource(byteCount: byteCount, isReplayable: isReplayable) {
            let bytes = Lock([Data(count: Int(byteCount ?? 0))])
            return { bytes.withLock { $0.popLast() } }
        }
        let request = OutgoingRequest(method: .put, url: url, body: .source(source))
        let exchange = SessionExchange(
            request: request,
            options: TransportOptions(),
            cancellations: SessionCancellations()
        )
        #expect(exchange.needsNewConnection == isAlone)
        #expect((exchange.urlRequest().httpBody == nil) == (isAlone || scheme == "http"))
    }
    #endif

    @Test func cookiesThatURLSessionHasJoinedAreLines() throws {
        let url = try #require(URL(string: "http://127.0.0.1/x"))
        let joined = ["Set-Cookie": "a=1; Path=/, b=2", "Link": "<a>, <b>", "X-Date": "Wed, a=1"]
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: joined)
        let fields = try #require(response).fields
        #expect(fields.map(\.name) == ["Link", "Set-Cookie", "Set-Cookie", "X-Date"])
        #expect(fields.map(\.value) == ["<a>, <b>", "a=1; Path=/", "b=2", "Wed, a=1"])
    }

    /// A file that grows by a byte with each look at it.
    private final class GrowingSource: BodySource {
        private let size = Lock(0)
        var byteCount: Int64? { Int64(size.next()) }
        func makeReader() -> any BodyReader { Reader(rest: size.withLock { $0 }) }

        private final class Reader: BodyReader {
            private var rest: Int

            init(rest: Int) { self.rest = rest }

            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                defer { rest = 0 }
                return min(rest, buffer.count)
            }
        }
    }

    @Test func aBodyIsNeverLongerThanTheLengthThatWasSent() throws {
        let url = try #require(URL(string: "http://127.0.0.1/x"))
        let source = GrowingSource()
        let request = OutgoingRequest(method: .put, url: url, body: .source(source))
        let options = TransportOptions()
        let exchange = SessionExchange(request: request, options: options, cancellations: SessionCancellations())
        let sent = exchange.urlRequest()
        let byteCount = try #require(sent.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) })
        #expect(firstRead(of: sent.httpBodyStream) == byteCount)
        // The connection died, and the source has grown.
        _ = source.byteCount
        #expect(firstRead(of: exchange.renewedBodyStream()) == -1)
    }
}
