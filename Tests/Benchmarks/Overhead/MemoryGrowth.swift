import Foundation

/// Whether memory stays flat: what the process has gained from the 2,000th to the 20,000th send, in one of its own.
enum MemoryGrowth {
    private static let start = 2_000

    /// Reports how many MiB the process of a client gains from the 2,000th send to the last.
    static func report(_ name: String, _ client: Client, upTo end: Int, _ url: URL, _ reporter: Reporter) throws {
        guard let memory = try memory(name, client, upTo: end, url, reporter) else { return }
        try reporter.report(name, memory.growth, unit: "MiB")
    }

    /// Returns the growth of the process of a client, and what it has at the end; `nil` where it cannot be measured.
    static func memory(
        _ name: String,
        _ client: Client,
        upTo end: Int,
        _ url: URL,
        _ reporter: Reporter
    ) throws -> (growth: Double, total: Double)? {
        guard ProcessFigures.residentMemory != nil else {
            reporter.skip(name, because: "the system has no file with memory figures")
            return nil
        }
        let arguments = ["--growth", client.name, "\(end)", url.absoluteString]
        let output = try ChildProcess.output(of: ChildProcess.executable, arguments)
        let figures = output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard figures.count == 2 else {
            throw ChildProcess.Failed(description: "the child reported no memory: \(output)")
        }
        return (figures[0], figures[1])
    }

    /// Sends up to `count` times, and returns how many MiB the process gained after the first 2,000, and how many it has.
    static func measure(_ client: Client, upTo count: Int, url: URL) async throws -> String {
        let fetch = client.makeFetch(url)
        try await Client.run(fetch, start, concurrency: 1)
        let before = ProcessFigures.residentMemory ?? 0
        try await Client.run(fetch, count - start, concurrency: 1)
        let after = ProcessFigures.residentMemory ?? 0
        return "\(after - before) \(after)"
    }
}
