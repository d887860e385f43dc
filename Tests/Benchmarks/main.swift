import Foundation

// Measures what Errand promises, against what one would write by hand. See Documentation/Benchmarks.md.

for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }

/// Runs what the command line selects.
///
/// - Returns: The exit status.
@Sendable
func run() async -> Int32 {
    do {
        switch try Arguments(Array(CommandLine.arguments.dropFirst())) {
        case .help: print(Arguments.usage)
        case .list: for suite in Suite.all { print("\(suite.name)  \(suite.summary)") }
        case .serve: try ServerProcess.serve()
        case .measure(let client, let count, let concurrency, let url):
            try await client.run(count, concurrency: concurrency, url: url)
        case .growth(let client, let count, let url):
            print(try await MemoryGrowth.measure(client, upTo: count, url: url))
        case .cacheWrite(let url, let generation): CacheProcess.write(to: url, generation: generation)
        case .cacheSome(let url, let limit):
            print(CacheProcess.writeSome(to: url, limit: limit), terminator: "")
        case .cacheHammer(let url, let seconds, let generation):
            print(CacheProcess.hammer(url, seconds: seconds, generation: generation))
        case .cacheMemory(let url, let count): print(try CacheProcess.memory(url, count: count))
        case .download(let file, let url): try await DownloadBench.measure(file, from: url)
        case .upload(let kind, let file, let url): try await UploadBench.measure(kind, file, to: url)
        case .run(let suites, let asJSON):
            for suite in suites { try await suite.run(Reporter(asJSON: asJSON)) }
        }
        return 0
    } catch {
        FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
        return error is Arguments.Wrong ? 2 : 1
    }
}

// The main thread waits. Were it asynchronous, it would end where there is nothing to do, which valgrind does not survive.
Task.detached {
    let status = await run()
    exit(status)
}
while true { pause() }
