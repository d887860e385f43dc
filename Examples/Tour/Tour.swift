import Errand
import ErrandInspector
import ErrandTesting
import Foundation
import Synchronization

/// A step of the tour: a title, and a closure that returns its result as text, or throws if the step fails.
struct Step: Sendable {
    let title: String
    let run: @Sendable (Tour) async throws -> String

    init(_ title: String, _ run: @escaping @Sendable (Tour) async throws -> String) {
        self.title = title
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
    let recorder = FlightRecorder(maximumCount: 10_000)
    private let makeTransport: @Sendable () -> any Transport

    init(server: MockServer, over makeTransport: @escaping @Sendable () -> any Transport) {
        self.server = server
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

    func chapter(_ title: String, _ steps: [Step]) async {
        print("\n\(title)")
        for step in steps {
            do {
                let saw = try await step.run(self)
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
