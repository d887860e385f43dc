import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Suite {
    /// The cost of large bodies, compared with the tasks of URLSession for files.
    static let transfer = Suite(name: "transfer", summary: "processor time and memory of 256 MiB") { reporter in
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is only a temporary folder
        try await UploadBench(folder: folder, reporter: reporter).run()
        try await DownloadBench(folder: folder, reporter: reporter).run()
    }
}

extension Reporter {
    /// Reports the ratio of the processor times of two transfers, which run alternately.
    func compare(
        _ name: String,
        against: String,
        ours: () async throws -> Void,
        raw: () async throws -> Void
    ) async throws {
        var ratios: [Double] = []
        for round in 0..<5 {
            var times = (ours: 0.0, raw: 0.0)
            // The order alternates, so that neither gains by its place.
            for turn in 0..<2 {
                let before = ProcessFigures.processorTime
                if (round + turn) % 2 == 0 {
                    try await ours()
                    times.ours = ProcessFigures.processorTime - before
                } else {
                    try await raw()
                    times.raw = ProcessFigures.processorTime - before
                }
            }
            ratios.append(times.ours / times.raw)
        }
        let all = Rounds(values: ratios)
        try report(name, all.median, unit: "ratio", against: against, spread: all.spread)
    }

    /// Reports how many MiB the peak of the memory rose, which this program prints with other arguments.
    func reportPeak(_ name: String, of arguments: [String]) throws {
        guard ProcessFigures.peakMemory != nil else {
            return skip(name, because: "the system has no file with memory figures")
        }
        let output = try ChildProcess.output(of: ChildProcess.executable, arguments)
        guard let growth = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw ChildProcess.Failed(description: "the child reported no memory: \(output)")
        }
        try report(name, growth, unit: "MiB")
    }
}
