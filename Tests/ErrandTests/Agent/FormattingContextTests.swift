import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

/// Where a request is prepared and its model is made.
@Suite struct FormattingContextTests {
    /// Records which of its steps ran on the main queue, where the main actor runs.
    final class Steps: Sendable {
        static let key = DispatchSpecificKey<Bool>()
        private let seen = Record<String>()
        func add(_ step: String) {
            seen.add("\(step) \(DispatchQueue.getSpecific(key: Self.key) ?? false ? "main" : "elsewhere")")
        }
        var all: [String] { seen.all }
    }

    struct Stepping: Request, Sendable {
        typealias Model = Int
        let steps: Steps
        var formattingContext: FormattingContext = .background
        var path: String {
            steps.add("path")
            return "/x"
        }
        var formatter: ClosureFormatter<Int> {
            ClosureFormatter { [steps] _ in
                steps.add("format")
                return 1
            }
        }
        func didProduce(_ model: Int, from response: RawResponse) throws { steps.add("didProduce") }
    }

    final class Box {}
    struct Unsendable: Request {
        typealias Model = Int
        let steps: Steps
        let box = Box()
        var path: String {
            steps.add("path")
            return "/x"
        }
        var formatter: ClosureFormatter<Int> { Stepping(steps: steps).formatter }
        func didProduce(_ model: Int, from response: RawResponse) throws { steps.add("didProduce") }
    }

    private func expected(_ place: String) -> [String] { ["path", "format", "didProduce"].map { "\($0) \(place)" } }

    @MainActor init() { DispatchQueue.main.setSpecific(key: Steps.key, value: true) }

    @MainActor @Test(arguments: [FormattingContext.background, .caller])
    func sendableRequestIsFormattedInItsContext(context: FormattingContext) async throws {
        let steps = Steps()
        let response = try await Rig().agent.response(for: Stepping(steps: steps, formattingContext: context))
        #expect(steps.all == expected(context == .caller ? "main" : "elsewhere"))
        #expect(response.metrics.formatting == (context == .caller ? .callerByChoice : .background))
    }

    @MainActor @Test func anyOtherRequestRunsOnItsCaller() async throws {
        let steps = Steps()
        let response = try await Rig().agent.response(for: Unsendable(steps: steps))
        #expect(steps.all == expected("main"))
        #expect(response.metrics.formatting == .callerByNeed)
    }

    @MainActor @Test func theCallbackOfAnyOtherRequestIsFormattedOnTheMainActor() async {
        let steps = Steps()
        let handle = Rig().agent.start(Unsendable(steps: steps)) { _ in steps.add("completion") }
        await wait { handle.isFinished }
        #expect(steps.all == expected("main") + ["completion main"])
    }

    actor Caller {
        private final class Model: Decodable {
            init(from decoder: any Decoder) throws {}
        }
        private struct Isolated: Request {
            typealias Model = Int
            let caller: Caller
            let box = Box()
            var path: String {
                caller.assertIsolated()
                return "/x"
            }
            var formatter: ClosureFormatter<Int> {
                caller.assertIsolated()
                return ClosureFormatter { _ in 1 }
            }
            func check() throws { caller.assertIsolated() }
            func didProduce(_ model: Int, from response: RawResponse) throws { caller.assertIsolated() }
        }

        func send(on agent: Agent) async throws -> Int {
            let value = try await agent.send(Isolated(caller: self))
            assertIsolated()
            _ = try await agent.get("/x", as: Model.self)
            assertIsolated()
            return value
        }
    }

    @Test func anActorKeepsItsRequestsAndModels() async throws {
        #expect(try await Caller().send(on: Rig().agent) == 1)
    }

    @MainActor @Test(arguments: [FormattingContext.background, .caller])
    func planShowsWhereAndWhyAModelIsFormatted(context: FormattingContext) async throws {
        let agent = Rig().agent
        let plan = try await agent.plan(for: Stepping(steps: Steps(), formattingContext: context))
        #expect(plan.formatting == (context == .caller ? .callerByChoice : .background))
        #expect(try await agent.plan(for: Unsendable(steps: Steps())).formatting == .callerByNeed)
    }
}
