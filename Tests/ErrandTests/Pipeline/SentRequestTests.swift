import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Retries and repetitions judge the request that was sent.
@Suite(.limit(seconds: 60))
struct SentRequestTests {
    private func rig(
        _ change: @escaping @Sendable (inout OutgoingRequest) -> Void,
        _ wire: @escaping RetryRig.Wire = { _, _ in RetryRig.status(503) }
    ) -> RetryRig {
        let rig = RetryRig(wire)
        rig.agent.config.adapters = [ClosureAdapter { request, _ in change(&request) }]
        return rig
    }

    private func request(_ method: HTTPMethod = .get) -> GeneralRequest<VoidFormatter> {
        GeneralRequest("/x").method(method).expecting(Void.self)
    }

    /// A range counts encoded bytes, and a part of them cannot be decoded (RFC 9110, section 14.2).
    @Test func aRangeIsOneOfTheContentAsItIsUnlessTheRequestAcceptsCodings() async throws {
        let rig = rig({ _ in }, { _, _ in RetryRig.status(200) })
        let ranged = request().header("Range", "bytes=0-9")
        for request in [request(), ranged, ranged.header("accept-encoding", "gzip")] {
            try await rig.agent.send(request)
        }
        rig.agent.config.adapters = [ClosureAdapter { request, _ in request.headers["Range"] = "bytes=0-9" }]
        try await rig.agent.send(request())
        let codings = rig.transport.requests.map { $0.headers["Accept-Encoding"] }
        #expect(codings == [nil, "identity", "gzip", "identity"])
    }

    @Test func getThatAnAdapterMakesAPostIsNotRetried() async throws {
        let rig = rig { $0.method = .post }
        await #expect(throws: NetworkError.self) { try await rig.agent.send(request()) }
        #expect(rig.transport.requests.map(\.method) == [.post])
    }

    @Test func postThatAnAdapterMakesAGetIsRetried() async throws {
        let rig = rig { $0.method = .get }
        await #expect(throws: NetworkError.self) { try await rig.agent.send(request(.post)) }
        #expect(rig.transport.requestCount == 3)
    }

    @Test func keyOfAnAdapterLetsAPostBeRetried() async throws {
        let rig = rig { $0.headers["Idempotency-Key"] = "abc" }
        await #expect(throws: NetworkError.self) { try await rig.agent.send(request(.post)) }
        #expect(rig.transport.requestCount == 3)
    }

    /// The POST took effect; repeating the GET would send the POST twice.
    @Test func postThatWasRedirectedToAGetIsNotRetried() async throws {
        let wire: RetryRig.Wire = { number, _ in
            number % 2 == 1 ? RetryRig.status(303, ["Location": "/y"]) : RetryRig.status(503)
        }
        let rig = rig({ $0.method = .post }, wire)
        await #expect(throws: NetworkError.self) { try await rig.agent.send(request()) }
        #expect(rig.transport.requests.map(\.method) == [.post, .get])
    }

    @Test func attemptThatSentNothingIsDecidedByThePreparedRequest() {
        let record = AttemptRecord(isPaid: false)
        #expect(record.judged == nil && record.host == nil && record.isRepeatable)
    }

    @Test func postThatWasRedirectedIsNotRepeatedAfterARefresh() async throws {
        let transport = StubTransport.tokens { request in
            request.method == .post ? .json("", status: 303, headers: ["Location": "/y"]) : nil
        }
        let rig = AuthenticationRig(transport: transport)
        let post = AuthenticationRig.request().method(.post)
        await expect(throwing: .status(401)) { try await rig.agent.send(post) }
        #expect(transport.requests.map(\.method) == [.post, .get])
        #expect(rig.session.credential?.access == "new1")
    }

    @Test func unauthorizedPostIsRepeatedAfterARefresh() async throws {
        let rig = AuthenticationRig()
        #expect(try await rig.agent.send(AuthenticationRig.request().method(.post)) == 7)
        #expect(rig.transport.requests.count == 2)
    }
}
