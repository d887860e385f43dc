import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The session handshake of some servers: 409 with an id, to be shown from then on.
@Suite(.limit(seconds: 60))
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
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            request.headers[field] = await session.id
            let response = try await next(request)
            guard response.statusCode == 409, let id = response.headers[field] else { return response }
            await session.keep(id)
            request.headers[field] = id
            return try await next(request)
        }
    }

    @Test
    func sessionIDOfA409IsSentFromThenOn() async throws {
        let transport = StubTransport.tokens { request in
            request.headers["X-Transmission-Session-Id"] == "abc"
                ? .json("7") : .json("", status: 409, headers: ["X-Transmission-Session-Id": "abc"])
        }
        let rig = AuthenticationRig(token: nil, transport: transport) { $0.interceptors = [SessionHandshake()] }
        #expect(try await rig.get() == 7)
        #expect(try await rig.get() == 7)
        #expect(transport.requests.map { $0.headers["X-Transmission-Session-Id"] } == [nil, "abc", "abc"])
    }
    @Test func interceptorCanBeTestedWithACustomChain() async throws {
        let url = try #require(URL(string: "https://api.example/"))
        let ids = Record<String?>()
        let chain = AttemptChain { request in
            let id = request.headers["X-Transmission-Session-Id"]
            ids.add(id)
            return RawResponse(
                statusCode: id == nil ? 409 : 200,
                headers: ["X-Transmission-Session-Id": "abc"],
                url: request.url
            )
        }
        let response = try await SessionHandshake()
            .intercept(OutgoingRequest(url: url), for: RequestContext(), next: chain)
        #expect(response.statusCode == 200)
        #expect(ids.all == [nil, "abc"])
    }
}
