import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// No server can hold a send beyond its deadline, nor fill the memory.
@Suite(.timing, .serialized, .limit(seconds: 120))
struct DeadlineTimingTests {
    private static let deadline = Duration.milliseconds(300)

    /// Every fault, and responses that take their time.
    private static let responses: [(String, MockResponse)] =
        FaultVerdict.table.map { ($0.fault.name, .json(FaultVerdict.body).closingConnection().faulted($0.fault)) } + [
            ("late", .json("1").delayed(by: .seconds(30))),
            ("drip", .json(FaultVerdict.body).dripping(1, every: .milliseconds(100))),
            ("slow head", .json("1").faulted(.slowHead(byteCount: 1, every: .milliseconds(100)))),
            ("retry after", .status(503, headers: ["Retry-After": "30"])),
            ("retry soon", .status(503, headers: ["Retry-After": "0"])),
            ("redirects", .redirect(to: "/x").delayed(by: .milliseconds(60))),
            ("login", .status(401, headers: ["WWW-Authenticate": #"Basic realm="x""#])),
        ]

    /// Never stopped: a header section that is cut short ends the process, and a task is cancelled shortly after its
    /// caller returns.
    private static let servers = Mutex<[MockServer]>([])

    @Test
    func everySendEndsWithin250MillisecondsOfItsDeadline() async throws {
        for (name, response) in Self.responses {
            let server = try MockServer()
            Self.servers.withLock { $0.append(server) }
            server.keepsLog = false
            server.on(.get, "/x", response)
            let agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
            let limits = Limits(timeout: .seconds(20), deadline: Self.deadline, maximumBodySize: 1 << 20)
            let began = ContinuousClock.now
            _ = await Task { try await agent.send(GeneralRequest("/x").limits(limits).expecting(Data.self)) }.result
            let took = ContinuousClock.now - began
            #expect(took < Self.deadline + .milliseconds(250), "\(name) took \(took)")
        }
        let memory = try ThisProcess.peak() >> 20
        #expect(memory < 300, "\(memory) MiB")
    }
}
