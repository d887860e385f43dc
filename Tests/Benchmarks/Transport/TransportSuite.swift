import Errand
import ErrandCurl
import Foundation

extension Suite {
    /// The cost of a send over libcurl, compared with URLSession.
    static let transport = Suite(name: "transport", summary: "CurlTransport over URLSessionTransport") { reporter in
        guard let server = try NginxServer() else {
            return reporter.skip("transport", because: "nginx is not installed")
        }
        try await TransportBench(url: server.url, reporter: reporter).run()
    }
}

private struct TransportBench {
    let url: URL
    let reporter: Reporter

    private static let rounds = 9

    /// The time of one client for many sends.
    private struct Sample {
        var time: Double
        var wallTime: Double
        var slowest: Double
    }

    func run() async throws {
        try await reportLargeBodies()
        for concurrency in [1, 64, 256] {
            let counts = concurrency == 1 ? (ours: 2_000, theirs: 600) : (ours: 24_000, theirs: 3_000)
            let rounds = try await compare(.curl, counts.ours, .errand, counts.theirs, concurrency)
            let against = "the same agent over URLSessionTransport"
            try report("transport.rps.\(concurrency)", rounds.map { $1.wallTime / $0.wallTime }, against)
            try report("transport.cpu.\(concurrency)", rounds.map { $0.time / $1.time }, against)
            try report("transport.p99.\(concurrency)", rounds.map { $0.slowest / $1.slowest }, against)
            let times = Rounds(values: rounds.map { $0.0.time * 1e6 })
            let name = "transport.time.\(concurrency)"
            try reporter.report(name, times.median, unit: "µs per send", spread: times.spread)
        }
        // No client over libcurl can take less than libcurl.
        for (name, client) in [("", Client.easy), (".model", .easyModel), (".async", .easyAsync)] {
            let floor = try await compare(client, 2_000, .errand, 600, 1)
            let above = "the same agent over URLSessionTransport, of \(client.name)"
            try report("transport.floor\(name).cpu.1", floor.map { $0.time / $1.time }, above)
            try report("transport.floor\(name).p99.1", floor.map { $0.slowest / $1.slowest }, above)
        }
        let bare = try await compare(.curlTransport, 2_000, .errand, 600, 1)
        try report("transport.bare.cpu.1", bare.map { $0.time / $1.time }, "the same agent over URLSessionTransport")
        let raw = try await compare(.curlTransport, 24_000, .lean, 3_000, 64)
        try report("transport.raw.64", raw.map { $1.wallTime / $0.wallTime }, "a lean delegate session + JSONDecoder")
        try reportMemory()
        let share = try await compare(.curl, 24_000, .curlTransport, 24_000, 64)
        try report("transport.share.64", share.map { $0.time / $1.time }, "the transport without the agent")
    }

    private func reportLargeBodies() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is only a temporary folder
        let (download, upload) = (
            DownloadBench(folder: folder, reporter: reporter, transport: CurlTransport()),
            UploadBench(folder: folder, reporter: reporter, transport: CurlTransport())
        )
        try await download.run(as: "transport.download")
        try await upload.run(as: "transport.upload")
    }

    private func reportMemory() throws {
        guard let ours = try MemoryGrowth.memory("transport.rss", .curl, upTo: 200_000, url, reporter),
            let theirs = try MemoryGrowth.memory("transport.rss", .errand, upTo: 20_000, url, reporter)
        else { return }
        try reporter.report("transport.rss.growth", ours.growth, unit: "MiB")
        try reporter.report(
            "transport.rss",
            ours.total / theirs.total,
            unit: "ratio",
            against: "the same agent over URLSessionTransport, after a tenth of the sends"
        )
    }

    /// Measures two clients in turns.
    private func compare(
        _ ours: Client,
        _ ourCount: Int,
        _ theirs: Client,
        _ theirCount: Int,
        _ concurrency: Int
    ) async throws -> [(Sample, Sample)] {
        let fetches = [ours, theirs].map { $0.makeFetch(url) }
        for fetch in fetches { _ = try await sample(fetch, 512, concurrency) }
        var samples: [(Sample, Sample)] = []
        for round in 0..<Self.rounds {
            let isFirst = round.isMultiple(of: 2)
            let before = isFirst ? nil : try await sample(fetches[1], theirCount, concurrency)
            let own = try await sample(fetches[0], ourCount, concurrency)
            let other = if let before { before } else { try await sample(fetches[1], theirCount, concurrency) }
            samples.append((own, other))
        }
        return samples
    }

    @concurrent
    private func sample(_ fetch: @escaping Client.Fetch, _ count: Int, _ concurrency: Int) async throws -> Sample {
        let before = ProcessFigures.processorTime
        let began = ContinuousClock.now
        let delays = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    var delays: [Duration] = []
                    for _ in 0..<count / concurrency {
                        let began = ContinuousClock.now
                        _ = try await fetch()
                        delays.append(.now - began)
                    }
                    return delays
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }.sorted()
        }
        let wallTime = (ContinuousClock.now - began) / .seconds(1)
        return Sample(
            time: (ProcessFigures.processorTime - before) / Double(delays.count),
            wallTime: wallTime / Double(delays.count),
            slowest: delays[delays.count * 99 / 100] / .seconds(1)
        )
    }

    private func report(_ name: String, _ values: [Double], _ against: String) throws {
        let rounds = Rounds(values: values)
        try reporter.report(name, rounds.median, unit: "ratio", against: against, spread: rounds.spread)
    }
}

extension Client {
    /// Errand over libcurl.
    static let curl = Client(name: "curl") { server in
        let agent = Agent(config: NetworkConfig(baseURL: BaseURL(server)), transport: CurlTransport())
        return { try await agent.send(GetUser()) }
    }

    /// The transport on libcurl without an agent.
    static let curlTransport = Client(name: "curl-transport") { server in
        let transport = CurlTransport()
        let decoder = JSONDecoder()
        let request = OutgoingRequest(url: server.appending(path: "user"), headers: ["Accept": "application/json"])
        return {
            let response = try await transport.send(request, options: TransportOptions())
            guard response.statusCode == 200, let body = response.body.whole else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: body)
        }
    }
}
