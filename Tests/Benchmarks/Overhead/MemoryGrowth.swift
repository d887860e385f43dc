import Foundation

/// Whether memory stays flat: what grows between the 2,000th and the 20,000th send, in a process of its own.
enum MemoryGrowth {
    static let start = 2000

    static func report(_ url: URL, _ reporter: Reporter) throws {
        guard ProcessFigures.residentMemory != nil else {
            return reporter.skip("overhead.rss", because: "the system does not tell memory in a file")
        }
        let arguments = ["--growth", "20000", url.absoluteString]
        let output = try ChildProcess.output(of: ChildProcess.executable, arguments).out
        guard let growth = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw ChildProcess.Failed(description: "the child told no memory: \(output)")
        }
        reporter.tell("overhead.rss", growth, unit: "MiB from send \(start) to 20000")
    }

    /// Prints how many MiB the process grew.
    static func measure(upTo count: Int, url: URL) async throws {
        let fetch = Client.errand.fetcher(url: url)
        try await Client.run(fetch, start, concurrency: 1)
        let before = ProcessFigures.residentMemory ?? 0
        try await Client.run(fetch, count - start, concurrency: 1)
        print((ProcessFigures.residentMemory ?? 0) - before)
    }
}
