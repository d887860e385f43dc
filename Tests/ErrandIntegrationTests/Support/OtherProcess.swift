import Errand
import Foundation

/// A program that serves as the other process; by default the benchmarks.
enum OtherProcess {
    static var program: URL? { program("Benchmarks") }

    /// A built program, which lies beside the test bundle, or `nil` if it is not there.
    static func program(_ name: String) -> URL? {
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        let places = bundles + [Bundle.main.executableURL, URL(filePath: CommandLine.arguments[0])].compactMap(\.self)
        return places.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// Starts it with its output in a pipe.
    static func start(_ program: URL, _ arguments: [String]) throws -> (process: Process, output: FileHandle) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        return (process, output.fileHandleForReading)
    }

    /// More than the tests take with the environment's values: half a second for each kill and each process.
    static var limit: Duration {
        let processCount = number("ERRAND_CACHE_KILLS", default: 0) + number("ERRAND_CACHE_PROCESSES", default: 0)
        return .seconds(120 + processCount / 2 + number("ERRAND_CACHE_SECONDS", default: 0))
    }

    static func number(_ variable: String, default standard: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap(Int.init) ?? standard
    }
}
