import Errand
import ErrandTesting
import Foundation
import Testing

/// The request that an interceptor passes on is checked like an adapter's.
@Suite struct InterceptorInputTests {
    struct Changing: Interceptor {
        let change: @Sendable (inout OutgoingRequest) throws -> Void
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            try change(&request)
            return try await next(request)
        }
    }

    @Test(arguments: RequestAdapterTests.breaks)
    func invalidChangesAreRejected(it: RequestAdapterTests.Break) async {
        let rig = Rig(config: .test { $0.interceptors = [Changing(change: it.change)] })
        let error = await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError
        #expect(error?.description.contains(it.text) == true, "\(String(describing: error))")
        #expect(rig.transport.requestCount == 0)
    }

    @Test func userInformationIsStripped() async throws {
        let url = try #require(URL(string: "HTTP://u:secret@other.example"))
        let rig = Rig(config: .test { $0.interceptors = [Changing { $0.url = url }] })
        #expect(try await rig.wire(GeneralRequest("/x")).url.absoluteString == "http://other.example/")
    }
}
