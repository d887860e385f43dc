import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

/// Each part of a user's code that a send calls records where it runs.
@Suite struct FormattingProofTests {
    /// Runs an actor's jobs on a queue of its own, so that any code can tell whether it runs there.
    final class QueueExecutor: SerialExecutor {
        private static let key = DispatchSpecificKey<Bool>()
        private let queue = DispatchQueue(label: "caller")

        init() { queue.setSpecific(key: Self.key, value: true) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }

        /// Whether the code runs on a queue of this kind, and so on the actor that owns it.
        static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }
    }

    /// Records the steps that ran on the caller's actor, and the others.
    final class Witness: Sendable {
        private let seen = Record<(step: String, onCaller: Bool)>()
        func note(_ step: String) { seen.add((step, QueueExecutor.isCurrent)) }
        var steps: Set<String> { Set(seen.all.map(\.step)) }
        func steps(onCaller: Bool) -> Set<String> { Set(seen.all.filter { $0.onCaller == onCaller }.map(\.step)) }

        @TaskLocal static var current: Witness?
    }

    struct Model: Decodable, Sendable {
        init(from decoder: any Decoder) throws { Witness.current?.note("model") }
    }

    struct Proving: Request, Encodable, Sendable {
        typealias Model = FormattingProofTests.Model
        var formattingContext: FormattingContext = .background
        var value: Int { 1 }

        enum CodingKeys: CodingKey { case value }

        func encode(to encoder: any Encoder) throws { Witness.current?.note("encode") }
        var path: String {
            Witness.current?.note("path")
            return "/x"
        }
        var headers: HTTPHeaders {
            Witness.current?.note("headers")
            return [:]
        }
        func check() throws { Witness.current?.note("check") }
        var formatter: JSONFormatter<Model> {
            Witness.current?.note("formatter")
            return JSONFormatter()
        }
        func didProduce(_ model: Model, from response: RawResponse) throws { Witness.current?.note("didProduce") }
    }

    static let steps: Set = ["encode", "path", "headers", "check", "formatter", "model", "didProduce"]

    /// An actor that sends in each way.
    actor Caller {
        private let executor = QueueExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func send(_ request: Proving, on agent: Agent) async throws {
            assertIsolated()
            _ = try await agent.send(request)
            assertIsolated()
            _ = try await agent.response(for: request)
            assertIsolated()
        }

        /// A type that is not `Sendable`, which the caller's actor owns.
        private final class Owned: Decodable {
            init(from decoder: any Decoder) throws {
                Witness.current?.note("model")
                #expect(QueueExecutor.isCurrent)
            }
        }

        func getOwned(on agent: Agent) async throws {
            _ = try await agent.get("/x", as: Owned.self)
            assertIsolated()
        }
    }

    private func witness(_ work: (Caller, Agent) async throws -> Void) async throws -> Witness {
        let witness = Witness()
        let caller = Caller()
        let agent = Rig(response: .json("{}")).agent
        try await Witness.$current.withValue(witness) { try await work(caller, agent) }
        return witness
    }

    @Test func inTheBackgroundNothingTouchesTheCallersActor() async throws {
        let witness = try await witness { try await $0.send(Proving(), on: $1) }
        #expect(witness.steps(onCaller: true).isEmpty)
        #expect(witness.steps(onCaller: false).isSuperset(of: Self.steps))
    }

    @Test func onTheCallerNothingLeavesItsActor() async throws {
        let witness = try await witness { try await $0.send(Proving(formattingContext: .caller), on: $1) }
        // `formattingContext` has to be read first; nothing else is read before.
        #expect(witness.steps(onCaller: false).isEmpty)
        #expect(witness.steps(onCaller: true).isSuperset(of: Self.steps))
    }

    @Test func aModelThatIsNotSendableStaysOnItsActor() async throws {
        let witness = try await witness { try await $0.getOwned(on: $1) }
        #expect(witness.steps(onCaller: true) == ["model"])
        #expect(witness.steps(onCaller: false).isEmpty)
    }

    // MARK: The main actor

    /// A request and a model that crash anywhere else.
    @MainActor private struct OnMain: @MainActor Request {
        typealias Model = MainModel
        var path: String {
            MainActor.preconditionIsolated()
            return "/x"
        }
        func check() throws { MainActor.preconditionIsolated() }
        func didProduce(_ model: MainModel, from response: RawResponse) throws { MainActor.preconditionIsolated() }
    }

    @MainActor private final class MainModel: @MainActor Decodable {
        init(from decoder: any Decoder) throws { MainActor.preconditionIsolated() }
    }

    @MainActor @Test func valuesOfTheMainActorNeverLeaveIt() async throws {
        let agent = Rig(response: .json("{}")).agent
        _ = try await agent.send(OnMain())
        MainActor.preconditionIsolated()
        _ = try await agent.get("/x", as: MainModel.self)
        MainActor.preconditionIsolated()
    }
}
