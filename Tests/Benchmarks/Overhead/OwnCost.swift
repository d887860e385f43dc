import Foundation

/// What a send costs when the network costs nothing: over a transport in memory, from a package of its own that knows the
/// public interface alone, against an earlier version of Errand.
struct OwnCost {
    private static let rounds = 15

    let reporter: Reporter

    private struct Sample {
        let time: Double
        let switches: Double
    }

    private struct Way {
        let name: String
        let concurrency: Int
        let count: Int
    }

    /// Builds both versions, which takes minutes the first time, and measures them in turns.
    func report() throws {
        let names = [
            "overhead.own.sequential", "overhead.own.concurrent64", "overhead.own.switches", "overhead.own.waiting",
        ]
        let new: URL
        let old: URL
        do {
            new = try Self.build(.current)
            old = try Self.build(try .of(Checkout.baseline))
        } catch let error as ChildProcess.Failed {
            for name in names { reporter.skip(name, because: error.description) }
            return
        }
        let sequential = try measure(Way(name: names[0], concurrency: 1, count: 5_000), new, old)
        _ = try measure(Way(name: names[1], concurrency: 64, count: 64_000), new, old)
        let switches = Rounds(values: sequential.map(\.switches))
        try reporter.report(names[2], switches.median, unit: "context switches per send", spread: switches.spread)
        try reportWaiting(names[3], new, old)
    }

    /// Reports the memory of a send that waits for its response.
    private func reportWaiting(_ name: String, _ new: URL, _ old: URL) throws {
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip(name, because: "the system has no file with memory figures")
        }
        let sizes = try [new, old].map { program in
            try Rounds(values: (0..<3).map { _ in try figures(of: program, ["waiting", "20000"], count: 1)[0] }).median
        }
        let against = "the same work of commit \(Checkout.baseline)"
        try reporter.report(name, sizes[0] / sizes[1], unit: "ratio", against: against)
        try reporter.report("\(name).memory", sizes[0], unit: "KB")
    }

    /// Reports the ratio of the processor times, and returns the samples of the new version.
    private func measure(_ way: Way, _ new: URL, _ old: URL) throws -> [Sample] {
        var samples: [Sample] = []
        var ratios: [Double] = []
        for round in 0..<Self.rounds {
            let isFirst = round.isMultiple(of: 2)
            let before = isFirst ? nil : try sample(old, way)
            let sample = try self.sample(new, way)
            let other = try before ?? self.sample(old, way)
            samples.append(sample)
            ratios.append(sample.time / other.time)
        }
        let rounds = Rounds(values: ratios)
        let against = "the same work of commit \(Checkout.baseline)"
        try reporter.report(way.name, rounds.median, unit: "ratio", against: against, spread: rounds.spread)
        let times = Rounds(values: samples.map(\.time))
        try reporter.report("\(way.name).time", times.median, unit: "µs", spread: times.spread)
        return samples
    }

    private func sample(_ program: URL, _ way: Way) throws -> Sample {
        let figures = try figures(of: program, ["\(way.count)", "\(way.concurrency)"], count: 2)
        return Sample(time: figures[0], switches: figures[1])
    }

    private func figures(of program: URL, _ arguments: [String], count: Int) throws -> [Double] {
        let output = try ChildProcess.output(of: program, arguments)
        let figures = output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard figures.count == count else { throw ChildProcess.Failed(description: "OwnCost printed '\(output)'") }
        return figures
    }

    /// Builds the measuring program with a checkout of Errand.
    private static func build(_ errand: Checkout) throws -> URL {
        let scratch = errand.folder.appending(path: ".build/own-cost")
        let package = Checkout.current.folder.appending(path: "Tests/OwnCost").path
        let arguments = ["build", "-c", "release", "--package-path", package, "--scratch-path", scratch.path]
        try ChildProcess.run("env", ["ERRAND=\(errand.folder.path)", "swift"] + arguments)
        return scratch.appending(path: "release/OwnCost")
    }
}
