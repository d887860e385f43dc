import Errand
import ErrandTesting
import Foundation
import Testing

/// The request that an interceptor passes on is checked like an adapter's.
@Suite struct InterceptorInputTests {
    /// A rig whose interceptor changes the request.
    private func rig(_ change: @escaping @Sendable (inout OutgoingRequest) throws -> Void) -> Rig {
        let interceptor = ClosureInterceptor { request, next in
            var request = request
            try change(&request)
            return try await next(request)
        }
        return Rig(config: .test { $0.interceptors = [interceptor] })
    }

    @Test(arguments: RequestAdapterTests.breaks)
    func invalidChangesAreRejected(it: RequestAdapterTests.Break) async {
        let rig = rig(it.change)
        let error = await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError
        #expect(error?.description.contains(it.text) == true, "\(String(describing: error))")
        #expect(rig.transport.requestCount == 0)
    }

    @Test func userInformationIsStripped() async throws {
        let url = try #require(URL(string: "HTTP://u:secret@other.example"))
        #expect(try await rig { $0.url = url }.wire(GeneralRequest("/x")).url.absoluteString == "http://other.example/")
    }
}
