import Errand
import ErrandTesting
import Foundation
import Testing

/// Responses that crash URLSession on Linux, in a process of their own: `Documentation/KnownLimitations.md`.
///
/// Where one of these tests fails, the system has been mended: then the fault belongs into ``FaultVerdict/table``.
@Suite(.serialized, .onURLSession, .limit(seconds: 60))
struct FatalFaultTests {
    @Sendable
    private static func meet(_ fault: MockFault) async throws {
        let server = try MockServer()
        server.on(.get, "/x", .json(FaultVerdict.body).closingConnection().faulted(fault))
        _ = try? await server.agent().send(GeneralRequest("/x").expecting(Data.self))
    }

    @Test
    func responseCutInItsHeaderSectionEndsTheProcess() async {
        await #expect(processExitsWith: .failure) { try await FatalFaultTests.meet(.closeInHead(after: 17)) }
    }
}
