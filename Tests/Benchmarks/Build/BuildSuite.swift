import Foundation

extension Suite {
    /// What the package costs those who build with it.
    static let build = Suite(name: "build", summary: "time and size of a consumer's clean release build; takes minutes")
    {
        try BuildCosts(reporter: $0).report()
    }
}

private struct BuildCosts {
    private static let rounds = 3

    let reporter: Reporter

    private struct Sample {
        let processorTime: Double
        let time: Double
    }

    /// Builds with this version and with the earlier one in turns.
    func report() throws {
        do {
            let old = try Checkout.of(Checkout.baseline)
            let pairs = try (0..<Self.rounds).map { _ in (new: try build(with: .current), old: try build(with: old)) }
            let against = "the same of commit \(Checkout.baseline)"
            let ratios = Rounds(values: pairs.map { $0.new.processorTime / $0.old.processorTime })
            try reporter.report("build.time", ratios.median, unit: "ratio", against: against, spread: ratios.spread)
            let waits = Rounds(values: pairs.map { $0.new.time / $0.old.time })
            try reporter.report("build.time.wall", waits.median, unit: "ratio", against: against, spread: waits.spread)
            let seconds = Rounds(values: pairs.map(\.new.processorTime))
            try reporter.report("build.seconds", seconds.median, unit: "s", spread: seconds.spread)
            _ = try build(with: nil)
            let growth = Double(try strippedSize("With") - strippedSize("Without")) / 1e6
            try reporter.report("build.size", growth, unit: "MB")
        } catch let error as ChildProcess.Failed {
            for name in ["build.time", "build.size"] { reporter.skip(name, because: error.description) }
        }
    }

    private var scratch: URL { Checkout.current.folder.appending(path: ".build/consumer") }

    private func build(with errand: Checkout?) throws -> Sample {
        let scratch = scratch.appending(path: errand == nil ? "Without" : "With")
        // A build that finds nothing to remove is as good.
        try? FileManager.default.removeItem(at: scratch)
        let package = Checkout.current.folder.appending(path: "Tests/Consumer").path
        let arguments = ["build", "-c", "release", "--package-path", package, "--scratch-path", scratch.path]
        let variables = errand.map { ["ERRAND=\($0.folder.path)"] } ?? ["-u", "ERRAND"]
        let (before, start) = (ProcessFigures.childProcessorTime, ContinuousClock.now)
        try ChildProcess.run("env", variables + ["swift"] + arguments)
        let time = (ContinuousClock.now - start) / .seconds(1)
        return Sample(processorTime: ProcessFigures.childProcessorTime - before, time: time)
    }

    /// Bytes of the program that was built last, without symbols and debug information.
    private func strippedSize(_ name: String) throws -> Int {
        let program = scratch.appending(path: "\(name)/release/\(name)").path
        try ChildProcess.run("strip", ["-o", program + ".stripped", program])
        let size = try FileManager.default.attributesOfItem(atPath: program + ".stripped")[.size] as? Int
        guard let size else { throw ChildProcess.Failed(description: "the size of \(name) is unknown") }
        return size
    }
}
