import Errand
import ErrandInspector
import ErrandTesting
import Foundation
import Synchronization

/// A step of the tour: a title, and a closure that returns its result as text, or throws if the step fails.
struct Step: Sendable {
    let title: String
    /// Whether it looks at the server, or at a secret that it echoes, so that it cannot be replayed.
    let needsServer: Bool
    let run: @Sendable (Tour) async throws -> String

    init(_ title: String, needsServer: Bool = false, _ run: @escaping @Sendable (Tour) async throws -> String) {
        self.title = title
        self.needsServer = needsServer
        self.run = run
    }
}

/// An error that indicates that an expectation of a step is not met.
struct DidNotHold: Error, CustomStringConvertible {
    let description: String
}

/// Throws an error if an expectation of a step is not met.
func hold(_ isTrue: Bool, _ what: @autoclosure () -> String) throws {
    if !isTrue { throw DidNotHold(description: what()) }
}

/// Runs the steps and counts those that pass and fail.
final class Tour: Sendable {
    private let counts = Mutex((passed: 0, failed: 0))

    let server: MockServer
    let agent: Agent
    /// Records each send, for the waterfall.
    let recorder: FlightRecorder
    private let makeTransport: @Sendable () -> any Transport

    init(
        server: MockServer,
        recorder: FlightRecorder = FlightRecorder(maximumCount: 10_000),
        over makeTransport: @escaping @Sendable () -> any Transport
    ) {
        self.server = server
        self.recorder = recorder
        self.makeTransport = makeTransport
        var config = NetworkConfig(baseURL: server.baseURL)
        config.accessories.append(recorder)
        agent = Agent(config: config, transport: makeTransport())
    }

    /// Returns an agent with a config of its own, over the transport of the tour.
    func agent(_ config: NetworkConfig) -> Agent {
        var config = config
        config.accessories.append(recorder)
        return Agent(config: config, transport: makeTransport())
    }

    /// Runs the steps of a chapter.
    ///
    /// - Parameters:
    ///   - title: The title of the chapter.
    ///   - steps: The steps. If they are replayed, those that need the server are omitted, and the others in any order.
    ///   - cassettes: The folder of their cassettes, of which each step has its own, or `nil` if there are none.
    func chapter(_ title: String, _ steps: [Step], _ cassettes: (folder: URL, mode: Cassette.Mode)?) async {
        print("\n\(title)")
        let isReplay = cassettes?.mode == .replay
        for (number, step) in isReplay ? steps.enumerated().shuffled() : Array(steps.enumerated()) {
            if isReplay, step.needsServer { continue }
            do {
                var tour = self
                if let cassettes, !step.needsServer {
                    let file = cassettes.folder.appending(path: "\(title) \(number + 1).har")
                    // A step that sends nothing has no cassette, and one that sends something fails without it.
                    let isMissing =
                        isReplay && !FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
                    let transport: any Transport =
                        isMissing
                        ? StubTransport()
                        : try Cassette(at: file, mode: cassettes.mode, over: makeTransport(), ignoresOrigin: true)
                    tour = Tour(server: server, recorder: recorder) { transport }
                }
                let saw = try await step.run(tour)
                counts.withLock { $0.passed += 1 }
                print("  ✓ \(step.title)\n      \(saw)")
            } catch {
                counts.withLock { $0.failed += 1 }
                print("  ✗ \(step.title)\n      did not hold: \(error)")
            }
        }
    }

    /// Prints a summary and returns the exit status.
    func report() -> Int32 {
        let (passed, failed) = counts.withLock { $0 }
        print("\n\(passed) steps held, \(failed) did not; \(server.requestCount) requests over real sockets.")
        return failed == 0 ? 0 : 1
    }
}

/// A list of lines, in the order in which they were added.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
