import Errand
import Foundation

// Measures what Errand promises, against what one would write by hand. See Documentation/Benchmarks.md.

for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }

// The main thread waits, so that nothing measured hops over the main queue, and because valgrind cannot follow a
// program whose main thread has ended, as that of an asynchronous main has.
let isDone = DispatchSemaphore(value: 0)
Task.detached {
    do {
        try await Command.run(try Arguments(CommandLine.arguments.dropFirst()))
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(error is Arguments.Wrong ? 2 : 1)
    }
    isDone.signal()
}
isDone.wait()

enum Command {
    static func run(_ arguments: Arguments) async throws {
        switch arguments {
        case .help: print(Arguments.usage)
        case .list: for suite in Suite.all { print("\(suite.name)  \(suite.summary)") }
        case .serve: try ServerProcess.serve()
        case .measure(let client, let count, let concurrency, let url):
            try await Client.named(client).run(count, concurrency: concurrency, url: url)
        case .growth(let count, let url): try await MemoryGrowth.measure(upTo: count, url: url)
        case .run(let suites, let asJSON):
            for suite in suites { try await suite.run(Reporter(asJSON: asJSON)) }
        }
    }
}
