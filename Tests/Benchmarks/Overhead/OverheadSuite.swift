import Foundation

extension Suite {
    /// What a send costs beside what URLSession itself costs.
    static let overhead = Suite(name: "overhead", summary: "processor time and memory of a send") { reporter in
        let server = try ServerProcess()
        let rounds = 9
        for (label, concurrency, count) in [("sequential", 1, 600), ("concurrent64", 64, 1280)] {
            let plan = RatioPlan(concurrency: concurrency, count: count, rounds: rounds, url: server.url)
            let rawRatio = try await plan.ratio(of: .errand, over: .raw)
            reporter.tell("overhead.\(label)", rawRatio, unit: "ratio", against: rawName)
            let leanRatio = try await plan.ratio(of: .errand, over: .lean)
            reporter.tell("overhead.\(label).lean", leanRatio, unit: "ratio", against: leanName)
        }
        let plan = RatioPlan(concurrency: 1, count: 600, rounds: rounds, url: server.url)
        let observed = try await plan.ratio(of: .observed, over: .errand)
        reporter.tell("overhead.observed", observed, unit: "ratio", against: "the same without an accessory")
        if ProcessInfo.processInfo.environment["NOCG"] == nil { try instructions(server.url, reporter) }
        try MemoryGrowth.report(server.url, reporter)
    }

    private static let rawName = "raw URLSession + JSONDecoder"
    private static let leanName = "lean delegate session + JSONDecoder"

    private static func instructions(_ url: URL, _ reporter: Reporter) throws {
        guard let counter = InstructionCounter() else {
            return reporter.skip("overhead.instructions", because: "valgrind is not installed")
        }
        for (label, concurrency) in [("sequential", 1), ("concurrent64", 64)] {
            let errand = try counter.perRequest(of: .errand, concurrency: concurrency, url: url)
            let raw = try counter.perRequest(of: .raw, concurrency: concurrency, url: url)
            let lean = try counter.perRequest(of: .lean, concurrency: concurrency, url: url)
            reporter.tell("overhead.instructions.\(label)", errand / raw, unit: "ratio", against: rawName)
            reporter.tell("overhead.instructions.\(label).lean", errand / lean, unit: "ratio", against: leanName)
            reporter.tell("overhead.instructions.\(label).count", errand, unit: "instructions per send")
        }
    }
}

/// How two clients are measured against each other: alternately, several times, in this process.
private struct RatioPlan {
    let concurrency: Int
    let count: Int
    let rounds: Int
    let url: URL

    /// The median over the rounds of the ratio of processor times.
    func ratio(of one: Client, over other: Client) async throws -> Double {
        let (first, second) = (one.fetcher(url: url), other.fetcher(url: url))
        _ = try await (time(first, 128), time(second, 128))
        var ratios: [Double] = []
        for round in 0..<rounds {
            // Who goes first changes, so that neither has the warmer caches throughout.
            if round.isMultiple(of: 2) {
                let mine = try await time(first, count)
                ratios.append(mine / (try await time(second, count)))
            } else {
                let theirs = try await time(second, count)
                ratios.append(try await time(first, count) / theirs)
            }
        }
        return ratios.median
    }

    private func time(_ fetch: @escaping @Sendable () async throws -> User, _ count: Int) async throws -> Double {
        let before = ProcessFigures.processorTime
        try await Client.run(fetch, count, concurrency: concurrency)
        return ProcessFigures.processorTime - before
    }
}
