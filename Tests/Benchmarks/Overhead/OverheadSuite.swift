import Foundation

extension Suite {
    /// The cost of a send, compared with URLSession itself.
    static let overhead = Suite(name: "overhead", summary: "processor time, instructions and memory of a send") {
        let server = try ServerProcess()
        try await Overhead(url: server.url, reporter: $0).run()
        try await Overhead(prefix: "overhead.bare", url: server.url.appending(path: "bare"), reporter: $0).compare()
        try OwnCost(reporter: $0).report()
    }
}

private struct Overhead {
    var prefix = "overhead"
    let url: URL
    let reporter: Reporter

    private let raw = "raw URLSession + JSONDecoder"
    private let lean = "lean delegate session + JSONDecoder"
    private let modes = [("sequential", concurrency: 1), ("concurrent64", concurrency: 64)]

    func run() async throws {
        try await compare()
        try await compareObserved()
        try MemoryGrowth.report("overhead.rss", .errand, upTo: 20_000, url, reporter)
    }

    func compare() async throws {
        for (mode, concurrency) in modes { try await compareTimes(mode, concurrency) }
        for (mode, concurrency) in modes { try await compareInstructions(mode, concurrency) }
    }

    private func compareTimes(_ mode: String, _ concurrency: Int) async throws {
        let comparison = Comparison(concurrency: concurrency, count: 256, rounds: 75, url: url)
        let ratios = try await comparison.ratios(of: .errand, over: [.raw, .lean])
        try report("\(prefix).\(mode)", ratios[0], against: raw)
        try report("\(prefix).\(mode).lean", ratios[1], against: lean)
    }

    private func compareObserved() async throws {
        let comparison = Comparison(concurrency: 1, count: 256, rounds: 75, url: url)
        let ratios = try await comparison.ratios(of: .observed, over: [.errand])
        try report("overhead.observed", ratios[0], against: "the same without an accessory")
        let recorded = try await comparison.ratios(of: .recorded, over: [.errand])
        try report("overhead.recorded", recorded[0], against: "the same without an accessory")
        let curl = try await comparison.ratios(of: .curlRecorded, over: [.curl])
        try report("overhead.recorded.curl", curl[0], against: "the same without an accessory")
        let modified = try await comparison.ratios(of: .modified, over: [.errand])
        try report("overhead.modified", modified[0], against: "the same without modifiers")
        let general = try await comparison.ratios(of: .general, over: [.errand])
        try report("overhead.general", general[0], against: "the same as a type of its own")
    }

    private func compareInstructions(_ mode: String, _ concurrency: Int) async throws {
        let name = "\(prefix).instructions.\(mode)"
        guard let counter = InstructionCounter() else {
            return reporter.skip(name, because: "valgrind is not installed")
        }
        var counts: [Double] = []
        do {
            for client in [Client.errand, .raw, .lean] {
                counts.append(try await counter.instructionsPerSend(of: client, concurrency: concurrency, url: url))
            }
        } catch let error as ChildProcess.Failed {
            return reporter.skip(name, because: error.description)
        }
        try reporter.report(name, counts[0] / counts[1], unit: "ratio", against: raw)
        try reporter.report("\(name).lean", counts[0] / counts[2], unit: "ratio", against: lean)
        try reporter.report("\(name).count", counts[0], unit: "instructions per send")
    }

    private func report(_ name: String, _ ratios: Rounds, against: String) throws {
        try reporter.report(name, ratios.median, unit: "ratio", against: against, spread: ratios.spread)
    }
}
