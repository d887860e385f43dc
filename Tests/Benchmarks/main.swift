import Errand
import ErrandTesting
import Foundation

// Measures what Errand promises, against what one would write by hand. See Documentation/Benchmarks.md.

for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }

do {
    switch try Arguments(CommandLine.arguments.dropFirst()) {
    case .help: print(Arguments.usage)
    case .list: for suite in Suite.all { print("\(suite.name)  \(suite.summary)") }
    case .serve: try ServerProcess.serve()
    case .measure(let client, let count, let concurrency, let url):
        try await Client.named(client).run(count, concurrency: concurrency, url: url)
    case .growth(let count, let url): try await MemoryGrowth.measure(upTo: count, url: url)
    case .run(let suites, let asJSON):
        for suite in suites { try await suite.run(Reporter(asJSON: asJSON)) }
    }
} catch let error as Arguments.Wrong {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(2)
}
