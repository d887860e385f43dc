import Errand
import Foundation
import Testing

/// A transport from outside of the library, with what is public alone.
@Suite(.limit(seconds: 60))
struct OwnTransportTests {
    /// An exchange without a response, until it is stopped.
    private final class Silence: StoppableExchange {
        let (stopped, whenStopped) = AsyncStream<Void>.makeStream()

        func stop() { whenStopped.finish() }

        func wait() async throws -> TransportResponse {
            for await _ in stopped {}
            throw CancellationError()
        }
    }

    private struct SilentTransport: StoppableTransport {
        let began = AsyncStream<Void>.makeStream()

        func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
            try await send(request, options: options, stop: nil)
        }

        func send(
            _ request: OutgoingRequest,
            options: TransportOptions,
            stop: StopSlot?
        ) async throws -> TransportResponse {
            let exchange = Silence()
            stop?.fill(with: exchange)
            began.continuation.yield()
            // The task is not looked at: the slot alone ends the exchange.
            return try await exchange.wait()
        }
    }

    private let transport = SilentTransport()
    private var agent: Agent {
        Agent(config: NetworkConfig(baseURL: "http://silent.example"), transport: transport)
    }

    @Test func aDeadlineStopsTheExchange() async {
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").deadline(.milliseconds(50)))
        }
        #expect(error?.reason == .deadlineExceeded(.milliseconds(50)))
    }

    @Test func cancelAllStopsTheExchange() async throws {
        let agent = agent
        let send = Task { try await agent.send(GeneralRequest("/x")) }
        var began = transport.began.stream.makeAsyncIterator()
        await began.next()
        agent.cancelAll()
        await #expect(throws: CancellationError.self) { try await send.value }
    }

    @Test func anExchangeOfASendThatHasEndedIsStoppedWhenItBegins() async throws {
        let agent = agent
        let handle = agent.start(GeneralRequest("/x")) { _ in }
        handle.cancel()
        await #expect(throws: (any Error).self) {
            try await agent.send(GeneralRequest("/x").deadline(.zero))
        }
    }
}
