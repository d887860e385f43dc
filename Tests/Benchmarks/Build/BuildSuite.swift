import Foundation

extension Suite {
    /// The cost of building with the package.
    static let build = Suite(name: "build", summary: "time and size of a consumer's clean builds; takes half an hour") {
        try BuildCosts(reporter: $0).report()
    }
}

private struct BuildCosts {
    private static let rounds = 5

    let reporter: Reporter

    private enum Configuration: String {
        case debug, release
    }

    private struct Sample {
        let processorTime: Double
        let time: Double
    }

    /// Builds with this version and with the earlier one in turns.
    func report() throws {
        do {
            let old = try Checkout.of(Checkout.baseline)
            try reportTimes(.debug, against: old)
            try reportTimes(.release, against: old)
            let without = try size(with: nil)
            try reporter.report("build.size.\(Checkout.baseline)", size(with: old) - without, unit: "MB")
            try reporter.report("build.size", size(with: .current) - without, unit: "MB")
        } catch let error as ChildProcess.Failed {
            for name in ["build.time", "build.size"] { reporter.skip(name, because: error.description) }
        }
    }

    private func reportTimes(_ configuration: Configuration, against old: Checkout) throws {
        let pairs = try (0..<Self.rounds).map { _ in
            try (new: build(configuration, with: .current), old: build(configuration, with: old))
        }
        let name = "build.\(configuration)"
        let against = "the same of commit \(Checkout.baseline)"
        let times = Rounds(values: pairs.map { $0.new.time / $0.old.time })
        try reporter.report("\(name).wall", times.median, unit: "ratio", against: against, spread: times.spread)
        let work = Rounds(values: pairs.map { $0.new.processorTime / $0.old.processorTime })
        try reporter.report("\(name).processor", work.median, unit: "ratio", against: against, spread: work.spread)
        let seconds = Rounds(values: pairs.map(\.new.time))
        try reporter.report("\(name).seconds", seconds.median, unit: "s", spread: seconds.spread)
    }

    private var scratch: URL { Checkout.current.folder.appending(path: ".build/consumer") }

    private func build(_ configuration: Configuration, with errand: Checkout?) throws -> Sample {
        let scratch = scratch.appending(path: errand == nil ? "Without" : "With")
        // A build that finds nothing to remove is as good.
        try? FileManager.default.removeItem(at: scratch)
        let package = Checkout.current.folder.appending(path: "Tests/Consumer").path
        let arguments = [
            "build", "-c", configuration.rawValue, "--package-path", package, "--scratch-path", scratch.path,
        ]
        let variables = errand.map { ["ERRAND=\($0.folder.path)"] } ?? ["-u", "ERRAND"]
        let (before, start) = (ProcessFigures.childProcessorTime, ContinuousClock.now)
        try ChildProcess.run("env", variables + ["swift"] + arguments)
        let time = (ContinuousClock.now - start) / .seconds(1)
        return Sample(processorTime: ProcessFigures.childProcessorTime - before, time: time)
    }

    /// Megabytes of a release program, without symbols and debug information.
    private func size(with errand: Checkout?) throws -> Double {
        _ = try build(.release, with: errand)
        let name = errand == nil ? "Without" : "With"
        let program = scratch.appending(path: "\(name)/release/\(name)").path
        try ChildProcess.run("strip", ["-o", program + ".stripped", program])
        let size = try FileManager.default.attributesOfItem(atPath: program + ".stripped")[.size] as? Int
        guard let size else { throw ChildProcess.Failed(description: "the size of \(name) is unknown") }
        return Double(size) / 1e6
    }
}
