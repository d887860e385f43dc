import Errand
import ErrandTesting
import Foundation
import Synchronization

extension Suite {
    /// The cost of a request of many, compared with one that is sent by itself.
    static let batch = Suite(name: "batch", summary: "processor time and memory of results(of:), 64 at once") {
        try await BatchCosts(reporter: $0).run()
    }
}

private struct BatchCosts {
    let reporter: Reporter

    private static let concurrency = 64
    private static let count = 4_096
    private static let rounds = 31

    private struct GetUser: Request {
        typealias Model = User
        var path: String { "user" }
    }

    private let agent = Agent(
        config: NetworkConfig(baseURL: "http://stub.example"),
        transport: StubTransport(maximumLogCount: 1) { _ in
            .json(#"{"id":7,"name":"Ada Lovelace","email":"ada@example.org","active":true}"#)
        }
    )

    func run() async throws {
        try await compare("batch.request.single", "single sends, 64 at once") { try await self.many($0) }
        try await compare("batch.request.stream", "single sends, 64 at once") { try await self.stream($0) }
        try await streamGrowth()
        try await resultsGrowth()
    }

    private func compare(_ name: String, _ against: String, _ ours: (Int) async throws -> Void) async throws {
        _ = try await time { try await ours(1_024) }
        _ = try await time { try await single(1_024) }
        var ratios: [Double] = []
        for round in 0..<Self.rounds {
            var times = (ours: 0.0, single: 0.0)
            // The order alternates, so that neither gains by its place.
            for turn in 0..<2 {
                if (round + turn) % 2 == 0 {
                    times.ours = try await time { try await ours(Self.count) }
                } else {
                    times.single = try await time { try await single(Self.count) }
                }
            }
            ratios.append(times.ours / times.single)
        }
        let all = Rounds(values: ratios)
        try reporter.report(name, all.median, unit: "ratio", against: against, spread: all.spread)
    }

    /// MiB that the process gains from the 2,000th to the 100,000th request of one stream.
    private func streamGrowth() async throws {
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip("batch.rss.stream", because: "the system has no file with memory figures")
        }
        var before = 0.0
        var count = 0
        for await next in agent.resultStream(of: Self.requests(100_000), maximumConcurrent: Self.concurrency) {
            _ = try next.result.get()
            count += 1
            if count == 2_000 { before = ProcessFigures.residentMemory ?? 0 }
        }
        try reporter.report("batch.rss.stream", (ProcessFigures.residentMemory ?? 0) - before, unit: "MiB")
    }

    /// The same for results that are all kept, 48 bytes each.
    private func resultsGrowth() async throws {
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip("batch.rss.results", because: "the system has no file with memory figures")
        }
        let before = Atomic<Double>(0)
        let requests = (0..<100_000).lazy.map { index in
            if index == 2_000 { before.store(ProcessFigures.residentMemory ?? 0, ordering: .relaxed) }
            return GetUser()
        }
        let results = await agent.results(of: requests, maximumConcurrent: Self.concurrency)
        let growth = (ProcessFigures.residentMemory ?? 0) - before.load(ordering: .relaxed)
        for result in results { _ = try result.get() }
        try reporter.report("batch.rss.results", growth, unit: "MiB")
    }

    private static func requests(_ count: Int) -> some Sequence<GetUser> { (0..<count).lazy.map { _ in GetUser() } }

    @concurrent
    private func many(_ count: Int) async throws {
        let results = await agent.results(of: Self.requests(count), maximumConcurrent: Self.concurrency)
        for result in results { _ = try result.get() }
    }

    @concurrent
    private func stream(_ count: Int) async throws {
        for await next in agent.resultStream(of: Self.requests(count), maximumConcurrent: Self.concurrency) {
            _ = try next.result.get()
        }
    }

    private func single(_ count: Int) async throws {
        try await Client.run({ [agent] in try await agent.send(GetUser()) }, count, concurrency: Self.concurrency)
    }

    private func time(_ work: () async throws -> Void) async throws -> Double {
        let before = ProcessFigures.processorTime
        try await work()
        return ProcessFigures.processorTime - before
    }
}
