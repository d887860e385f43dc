import Foundation

/// Whether memory stays flat: what the process has gained from the 2,000th to the 20,000th send, in one of its own.
enum MemoryGrowth {
    private static let start = 2_000
    private static let end = 20_000

    static func report(_ url: URL, _ reporter: Reporter) throws {
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip("overhead.rss", because: "the system has no file with memory figures")
        }
        let output = try ChildProcess.output(of: ChildProcess.executable, ["--growth", "\(end)", url.absoluteString])
        guard let growth = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw ChildProcess.Failed(description: "the child reported no memory: \(output)")
        }
        try reporter.report("overhead.rss", growth, unit: "MiB")
    }

    /// Sends up to `count` times, and returns how many MiB the process gained after the first 2,000.
    static func measure(upTo count: Int, url: URL) async throws -> Double {
        let fetch = Client.errand.makeFetch(url)
        try await Client.run(fetch, start, concurrency: 1)
        let before = ProcessFigures.residentMemory ?? 0
        try await Client.run(fetch, count - start, concurrency: 1)
        return (ProcessFigures.residentMemory ?? 0) - before
    }
}
