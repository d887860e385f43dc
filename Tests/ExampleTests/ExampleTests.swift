import Errand
import ErrandTesting
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
            ["127.0.0.1/x"], ["ftp://127.0.0.1/x", "a=b"], ["nonsense", "a=b"],
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

    /// A temporary folder, which is removed with it.
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "errand-example-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }  // a temporary folder

        var path: String { url.path }
        func file(_ name: String) -> URL { url.appending(path: name) }
        func text(_ name: String) -> String? { try? String(contentsOf: file(name), encoding: .utf8) }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    @Test(.limit(seconds: 60)) func fetchReplacesNoFileOfItsFolder() async throws {
        let program = try #require(Self.program("Fetch"), "Fetch is not built; `swift build` builds it")
        let folder = try Folder()
        try Data("mine".utf8).write(to: folder.file("Makefile"))
        let server = try MockServer { request in
            let isNamed = request.path == "/named"
            return .text(
                request.path,
                headers: isNamed ? ["Content-Disposition": "attachment; filename=Makefile"] : [:]
            )
        }
        defer { server.stop() }
        let urls = ["/a/x.txt", "/b/x.txt", "/named"].map { "http://127.0.0.1:\(server.port)\($0)" }
        let outcome = try await Self.run(program, ["-q", "-d", folder.path] + urls)
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(folder.names == ["Makefile", "Makefile.1", "x.txt", "x.txt.1"])
        #expect(folder.text("Makefile") == "mine" && folder.text("Makefile.1") == "/named")
        #expect(Set([folder.text("x.txt"), folder.text("x.txt.1")]) == ["/a/x.txt", "/b/x.txt"])
        let named = try await Self.run(program, ["-q", "-o", folder.file("x.txt").path, urls[0]])
        #expect(named.status == 0 && folder.text("x.txt") == "/a/x.txt" && folder.names.count == 4)
    }

    @Test(.limit(seconds: 60)) func fetchRefusesAPipeAsItsOutput() async throws {
        let program = try #require(Self.program("Fetch"), "Fetch is not built; `swift build` builds it")
        let folder = try Folder()
        mkfifo(folder.file("pipe").path, 0o600)
        let outcome = try await Self.run(program, ["-q", "-o", folder.file("pipe").path, "http://127.0.0.1:1/a"])
        #expect(outcome.status == 1 && outcome.output.contains("it is a pipe"), "\(outcome.output)")
        #expect(folder.names == ["pipe"])
    }

    private static let hasFullDevice = FileManager.default.isWritableFile(atPath: "/dev/full")

    @Test(
        .enabled(if: hasFullDevice),
        .limit(seconds: 60),
        arguments: [">&-", "2>&-", "2>/dev/full", "0>&- >&- 2>&-", "2> >(exec 0<&-)"]
    )
    func toolEndsWithItsStatusIfAStreamCannotBeWritten(redirection: String) async throws {
        let fetch = try #require(Self.program("Fetch"), "Fetch is not built; `swift build` builds it")
        let upload = try #require(Self.program("Upload"), "Upload is not built; `swift build` builds it")
        let folder = try Folder()
        let server = try MockServer { _ in .text("accepted") }
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/a"
        let target = ["-d", folder.path]
        for (program, words, status) in [
            (fetch, ["--retries", "0", "http://127.0.0.1:1/a"] + target, 1), (fetch, ["--what"], 2),
            (fetch, [url] + target, 0), (upload, [url, "a=b"], 0), (upload, ["--what"], 2),
        ] as [(URL, [String], Int32)] {
            let script = "\"$0\" \"$@\" \(redirection)"
            let outcome = try await Self.run(URL(filePath: "/bin/bash"), ["-c", script, program.path] + words)
            #expect(outcome.status == status, "\(words): \(outcome.output)")
        }
        #expect(folder.names == ["a"] && server.requestCount == 2)
    }

    @Test(.enabled(if: hasFullDevice), .limit(seconds: 60)) func lostOutputIsReported() async throws {
        let server = try MockServer { _ in .text("accepted") }
        defer { server.stop() }
        let folder = try Folder()
        let url = "http://127.0.0.1:\(server.port)/a"
        // The server has accepted the upload nevertheless.
        for (name, words, status) in [("Fetch", ["-d", folder.path, url], 1), ("Upload", [url, "a=b"], 0)] {
            let program = try #require(Self.program(name), "\(name) is not built; `swift build` builds it")
            let words = ["-c", "\"$0\" \"$@\" >/dev/full", program.path, "-q"] + words
            let outcome = try await Self.run(URL(filePath: "/bin/sh"), words)
            #expect(outcome.status == Int32(status) && outcome.output.contains("\(name): the output cannot be written"))
        }
        #expect(folder.names == ["a"])
    }

    @Test(.limit(seconds: 60)) func uploadPrintsTheSizeOfWhatIsNoText() async throws {
        let program = try #require(Self.program("Upload"), "Upload is not built; `swift build` builds it")
        let server = try MockServer { request in
            request.path == "/text"
                ? .text("a\u{1B}]0;x\u{7}b") : .data(Data([0x89, 0x50, 0xFF]), contentType: "image/png")
        }
        defer { server.stop() }
        for (path, output) in [("/text", "a\u{1B}]0;x\u{7}b\n"), ("/image", "3 bytes that are no text\n")] {
            let outcome = try await Self.run(program, ["-q", "http://127.0.0.1:\(server.port)\(path)", "a=b"])
            #expect(outcome.status == 0 && outcome.output == output)
        }
    }

    #if os(Linux)
    /// `script` runs a program on a terminal, and prints what is shown there.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")), .limit(seconds: 60))
    func nothingOfAServerOrAURLControlsTheTerminal() async throws {
        let script = URL(filePath: "/usr/bin/script")
        let server = try MockServer { _ in .text("a\u{1B}]0;x\u{7}\u{9B}\u{202E}b\nc") }
        defer { server.stop() }
        let folder = try Folder()
        let url = "http://127.0.0.1:\(server.port)/%1B%5D0;x%07%C2%9B%E2%80%AEb"
        for (name, words) in [("Fetch", "-d '\(folder.path)' '\(url)'"), ("Upload", "-q '\(url)' a=b")] {
            let program = try #require(Self.program(name), "\(name) is not built; `swift build` builds it")
            let words = ["-qec", "TERM=xterm '\(program.path)' \(words)", folder.file("typescript").path]
            let outcome = try await Self.run(script, words)
            #expect(outcome.status == 0 && outcome.output.contains("\\u{1B}]0;x\\u{7}\\u"), "\(outcome.output)")
            for sign in ["\u{1B}]", "\u{7}", "\u{9B}", "\u{202E}"] {
                #expect(!outcome.output.unicodeScalars.contains { String($0) == sign })
            }
        }
    }
    #endif

    /// The built program of an example, which lies beside the test bundle, or `nil` when it is not there.
    static func program(_ name: String) -> URL? {
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        let places = bundles + [Bundle.main.executableURL, URL(filePath: CommandLine.arguments[0])].compactMap(\.self)
        return places.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    static func run(
        _ program: URL,
        _ arguments: [String] = []
    ) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-example-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // what is left over is only a temporary file
        let output = try FileHandle(forWritingTo: file)
        let status = try await run(program, arguments, to: output)
        return (status, try String(contentsOf: file, encoding: .utf8))
    }

    /// Runs a program until its end.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - arguments: Its arguments.
    ///   - output: Both of its outputs, which are closed.
    ///   - environment: Variables that replace the variables of this process.
    /// - Returns: The status.
    /// - Throws: An error if it cannot be run.
    static func run(
        _ program: URL,
        _ arguments: [String],
        to output: FileHandle,
        environment: [String: String] = [:]
    ) async throws -> Int32 {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
            .merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = output
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                process.terminationHandler = { _ in continuation.resume() }
                do {
                    try process.run()
                    try output.close()
                } catch {
                    process.terminationHandler = nil
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            // The time limit cancels; a program that hangs ends here, and what it printed so far is shown.
            if process.isRunning { process.terminate() }
        }
        return process.terminationStatus
    }
}
