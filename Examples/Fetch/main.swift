import Errand
import Foundation
import ToolSupport

// A downloader like `curl -C -`: several URLs at once, progress bars, a checksum, and continuing what was interrupted.

func fail(_ text: String, status: Int32) -> Never {
    StandardStream.report("Fetch: \(text)")
    exit(status)
}

StandardStream.prepare()

let arguments: Arguments
do {
    arguments = try Arguments(CommandLine.arguments.dropFirst())
} catch {
    fail("\(error)", status: 2)
}
if arguments.wantsHelp {
    if let failure = StandardStream.print(Arguments.help) {
        fail("the output cannot be written: \(failure)", status: 1)
    }
    exit(0)
}

var config = NetworkConfig()
config.headers = arguments.headers
config.limits.timeout = .seconds(arguments.timeout)
config.retryPolicy = RetryPolicy(maximumAttempts: arguments.retries + 1)
config.retryBudget = .unlimited
let agent = Agent(config: config)

// With the hint, a folder is never taken for a file that does not exist yet.
let target = arguments.output.map { URL(filePath: $0) } ?? URL(filePath: arguments.folder, directoryHint: .isDirectory)
if arguments.output == nil {
    do {
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    } catch {
        fail("the folder '\(arguments.folder)' cannot be created: \(error.localizedDescription)", status: 1)
    }
}
let options = DownloadOptions(sha256: arguments.sha256, keepsExistingFiles: true)
let addresses = arguments.addresses
let board = Board(names: addresses.map(\.name), isShown: !arguments.isQuiet)

let downloads = addresses.enumerated().map { index, address in
    GeneralRequest(address.text)
        .authorization(arguments.headers["Authorization"] == nil ? address.authorization : .inherited)
        .downloading(to: target, options)
        .accessory { event in
            if case .didProgress(let progress) = event { board.show(progress, of: index) }
        }
}

let work = Task { () -> Int32 in
    var failures = 0
    var outputFailure: String?
    for await one in agent.resultStream(of: downloads, maximumConcurrent: arguments.atOnce) {
        let index = one.index
        switch one.result {
        case .success(let file):
            let start = BoardLines.size(file.resumedByteCount)
            let resumed = file.resumedByteCount > 0 ? ", continued at \(start)" : ""
            board.end(index, "\(BoardLines.size(file.byteCount))\(resumed)", isComplete: true)
            let line = "\(file.url.path)  \(file.byteCount) bytes\(resumed)"
            outputFailure = board.print(line) ?? outputFailure
        case .failure(is CancellationError):
            failures += 1
            board.end(index, "interrupted")
        case .failure(let error):
            failures += 1
            board.end(index, "failed")
            board.report("Fetch: \(addresses[index].message(of: error, needsQuery: addresses.count > 1))")
        }
    }
    if let outputFailure { board.report("Fetch: the output cannot be written: \(outputFailure)") }
    return failures == 0 && outputFailure == nil ? 0 : 1
}

signal(SIGINT, SIG_IGN)
let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interruption.setEventHandler { work.cancel() }
interruption.resume()

let status = await work.value
if work.isCancelled { board.report("Fetch: interrupted; the same command continues") }
exit(work.isCancelled ? 130 : status)
