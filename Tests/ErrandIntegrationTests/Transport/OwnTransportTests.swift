import Errand
import Foundation
import Testing

/// A transport from outside of the library, with what is public alone.
@Suite(.limit(seconds: 60))
struct OwnTransportTests {
    /// Never responds; ends when its task is cancelled.
    private struct SilentTransport: Transport {
        let began = AsyncStream<Void>.makeStream()

        func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
            began.continuation.yield()
            try await Task.sleep(for: .seconds(3600))
            return TransportResponse(statusCode: 200)
        }
    }

    private let transport = SilentTransport()
    private var agent: Agent {
        Agent(config: NetworkConfig(baseURL: "http://silent.example"), transport: transport)
    }

    @Test func aDeadlineCancelsTheExchange() async {
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").deadline(.milliseconds(50)))
        }
        #expect(error?.reason == .deadlineExceeded(.milliseconds(50)))
    }

    @Test(arguments: [true, false])
    func aCancellationCancelsTheExchange(byAgent: Bool) async throws {
        let agent = agent
        let send = Task { try await agent.send(GeneralRequest("/x")) }
        var began = transport.began.stream.makeAsyncIterator()
        await began.next()
        if byAgent { agent.cancelAll() } else { send.cancel() }
        await #expect(throws: CancellationError.self) { try await send.value }
    }

    @Test func aSendThatHasToEndBeginsNoExchange() async throws {
        let agent = agent
        let send = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await agent.send(GeneralRequest("/x"))
        }
        await #expect(throws: CancellationError.self) { try await send.value }
        transport.began.continuation.finish()
        var began = transport.began.stream.makeAsyncIterator()
        #expect(await began.next() == nil)
    }
}
