import Foundation
import Testing

/// Runs the examples as a user does: as programs of their own, which end with status 0 when all held.
@Suite struct ExampleTests {
    @Test(.limit(seconds: 120), arguments: ["Tour", "ReadmeSnippets"])
    func exampleEndsWithoutFailure(name: String) async throws {
        let program = try #require(Self.program(name), "\(name) is not built; `swift build` builds it")
        let outcome = try await Self.run(program)
        #expect(outcome.status == 0, "\(outcome.output)")
    }

    @Test(.limit(seconds: 60), arguments: ["Fetch", "Upload"])
    func toolExplainsItselfAndRejectsAWrongCommandLine(name: String) async throws {
        let program = try #require(Self.program(name), "\(name) is not built; `swift build` builds it")
        let help = try await Self.run(program, ["--help"])
        #expect(help.status == 0 && help.output.contains("usage: \(name)"), "\(help.output)")
        let lines = [
            [], ["--what"], ["http://127.0.0.1:1/", "--timeout", "-3"], ["--header"], ["ftp://127.0.0.1/x"],
            ["127.0.0.1/x"],
            ["http://127.0.0.1:1/x", "--sha256", "abc"], ["http://127.0.0.1:1/x", "--text", "x"],
        ]
        for words in lines {
            let outcome = try await Self.run(program, words)
            #expect(outcome.status == 2 && outcome.output.hasPrefix("\(name): "), "\(words): \(outcome.output)")
        }
        let words = name == "Fetch" ? ["-q", "--retries", "0"] : ["-q", "--file", program.path]
        let refused = try await Self.run(program, words + ["http://127.0.0.1:1/x"])
        #expect(refused.status == 1 && refused.output.contains("refused"), "\(refused.output)")
    }

    @Test(.limit(seconds: 60)) func fetchCreatesItsFolder() async throws {
        let program = try #require(Self.program("Fetch"), "Fetch is not built; `swift build` builds it")
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-fetch-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
        let words = ["-q", "--retries", "0", "-d", folder.path, "http://127.0.0.1:1/a"]
        #expect(try await Self.run(program, words).status == 1)
        #expect(try folder.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true)
        // A file is refused, and not replaced.
        let inside = try await Self.run(program, ["-q", "-d", program.path, "http://127.0.0.1:1/a"])
        #expect(inside.status == 1 && inside.output.contains("cannot be created"), "\(inside.output)")
    }

    /// The built program of an example, which lies beside the test bundle, or `nil` when it is not there.
    private static func program(_ name: String) -> URL? {
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        let places = bundles + [Bundle.main.executableURL, URL(filePath: CommandLine.arguments[0])].compactMap(\.self)
        return places.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    private static func run(
        _ program: URL,
        _ arguments: [String] = []
    ) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-example-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // what is left over is only a temporary file
        let output = try FileHandle(forWritingTo: file)
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        process.standardOutput = output
        process.standardError = output
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                process.terminationHandler = { _ in continuation.resume() }
                do {
                    try process.run()
                } catch {
                    process.terminationHandler = nil
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            // The time limit cancels; a program that hangs ends here, and what it printed so far is shown.
            if process.isRunning { process.terminate() }
        }
        try output.close()
        return (process.terminationStatus, try String(contentsOf: file, encoding: .utf8))
    }
}
