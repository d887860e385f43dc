import Errand
import Testing

/// The session handshake of some servers: 409 with an id, to be shown from then on.
@Suite(.timeLimit(.minutes(1)))
struct HandshakeTests {
    private struct SessionHandshake: Interceptor {
        private actor Session {
            var id: String?
            func keep(_ id: String) { self.id = id }
        }

        private let session = Session()
        private let field = "X-Transmission-Session-Id"

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: @Sendable (OutgoingRequest) async throws -> RawResponse
        ) async throws -> RawResponse {
            var request = request
            request.headers[field] = await session.id
            let answer = try await next(request)
            guard answer.statusCode == 409, let id = answer.headers[field] else { return answer }
            await session.keep(id)
            request.headers[field] = id
            return try await next(request)
        }
    }

    @Test
    func theIdOfARefusalIsTakenAndShownFromThenOn() async throws {
        let transport = TokenTransport { request in
            request.headers["X-Transmission-Session-Id"] == "abc"
                ? .jsonAnswer("7") : .jsonAnswer("", status: 409, headers: ["X-Transmission-Session-Id": "abc"])
        }
        let bench = LoginBench(token: nil, transport: transport) { $0.interceptors = [SessionHandshake()] }
        #expect(try await bench.get() == 7)
        #expect(try await bench.get() == 7)
        #expect(transport.requests.map { $0.headers["X-Transmission-Session-Id"] } == [nil, "abc", "abc"])
    }
}
