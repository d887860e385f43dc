import Errand
import ErrandTesting
import Foundation
import Testing

/// Runs the tools as a user does, on a terminal and with credentials in their URLs.
@Suite struct ToolTests {
    private static func program(_ name: String) throws -> URL {
        try #require(ExampleTests.program(name), "\(name) is not built; `swift build` builds it")
    }

    @Test(.limit(seconds: 60), arguments: [(80, 24), (40, 10), (20, 4)])
    func nothingThatFetchPrintsIsOverwritten(columns: Int, rows: Int) async throws {
        let server = try MockServer { request in
            request.path.hasPrefix("/no") ? .status(404) : .text("content")
        }
        defer { server.stop() }
        let folder = try ExampleTests.Folder()
        let urls = ["a", "no1", "b", "c", "no2", "d", "e", "f", "g", "h", "i", "j"]
            .map { "http://127.0.0.1:\(server.port)/\($0)" }
        let words = ["-d", folder.path, "--retries", "0"] + urls
        let terminal = try PseudoTerminal(columns: columns, rows: rows)
        let (status, screen) = try await terminal.run(try Self.program("Fetch"), words)
        let all = screen.lines.joined()
        #expect(status == 1, "\(all)")
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            let line = "\(folder.path)/\(name)  7 bytes"
            #expect(all.components(separatedBy: line).count == 2, "\(name): \(screen.text)")
        }
        #expect(all.components(separatedBy: "/no1: the status 404").count == 2, "\(screen.text)")
        #expect(all.components(separatedBy: "/no2: the status 404").count == 2, "\(screen.text)")
        // The board stands below all of them, once, and fits the screen.
        let height = min(rows - 1, 13)
        let board = screen.text.suffix(height)
        #expect(board.allSatisfy { $0.count < columns && !$0.contains("/") }, "\(screen.text)")
        #expect(board.last?.hasPrefix("10 of") == true, "\(screen.text)")
        #expect(screen.text.count(where: { $0.contains(" of 1") || $0.contains("more") }) == (height < 13 ? 2 : 1))
    }

    @Test(.limit(seconds: 60), arguments: ["dumb", ""])
    func dumbTerminalGetsNoProgress(type: String) async throws {
        let server = try MockServer { _ in .text(String(repeating: "x", count: 200_000)) }
        defer { server.stop() }
        let folder = try ExampleTests.Folder()
        let url = "http://127.0.0.1:\(server.port)/a"
        try Data(count: 300_000).write(to: folder.file("upload"))
        let upload = [url, "a=@\(folder.file("upload").path)"]
        for (name, words) in [("Fetch", ["-d", folder.path, url]), ("Upload", upload)] {
            let terminal = try PseudoTerminal(columns: 80, rows: 24)
            let (status, screen) = try await terminal.run(try Self.program(name), words, type: type)
            #expect(status == 0 && !screen.hasControls, "\(screen.text.suffix(3))")
        }
    }

    @Test(.limit(seconds: 60)) func credentialsOfAURLAreSentToItsOriginAndNotPrinted() async throws {
        let server = try MockServer { request in
            switch request.path {
            case "/leave":
                .redirect(to: "http://localhost:\(request.headers["Host"]?.split(separator: ":").last ?? "")/a")
            case "/auth" where request.headers["Authorization"] == nil: .status(401)
            default: .text(request.headers["Authorization"] ?? "none")
            }
        }
        defer { server.stop() }
        let folder = try ExampleTests.Folder()
        let target = folder.file("x")
        let base = "http://ada:s%2Fcret@127.0.0.1:\(server.port)"
        let basic = "Basic \(Data("ada:s/cret".utf8).base64EncodedString())"
        let fetch = ["-o", target.path, "-q"]
        for (words, content) in [
            (["\(base)/auth"], basic), (["\(base)/leave"], "none"),
            (["-H", "Authorization: Bearer t", "\(base)/auth"], "Bearer t"),
        ] {
            let outcome = try await ExampleTests.run(try Self.program("Fetch"), fetch + words)
            #expect(outcome.status == 0 && folder.text("x") == content, "\(outcome.output)")
        }
        let upload = try await ExampleTests.run(try Self.program("Upload"), ["-q", "\(base)/auth", "a=b"])
        #expect(upload.status == 0 && upload.output == "\(basic)\n", "\(upload.output)")

        let refused = "http://ada:s%2Fcret@127.0.0.1:1/x?token=s3cret&id=1"
        let second = "http://ada:s%2Fcret@127.0.0.1:1/x?token=s3cret&id=2"
        for (name, words) in [
            ("Fetch", ["-q", "--retries", "0", "-d", folder.path, refused, second]),
            ("Upload", ["-q", refused, "a=b"]),
            ("Fetch", ["ada:s3cret@127.0.0.1/x?token=s3cret"]), ("Fetch", [refused, refused]),
        ] {
            let outcome = try await ExampleTests.run(try Self.program(name), words)
            #expect(outcome.status != 0 && !outcome.output.contains("cret") && !outcome.output.contains("ada"))
            #expect(outcome.output.contains("127.0.0.1"), "\(outcome.output)")
            if words.count == 7 { #expect(outcome.output.contains("id=1") && outcome.output.contains("id=2")) }
        }
    }

    @Test(.limit(seconds: 60)) func uploadPrintsTheResponseOfAnError() async throws {
        let long = "a" + String(repeating: "ö", count: 50_000)
        let server = try MockServer { request in
            request.path == "/long" ? .text(long, status: 422) : .text("the Größe is wrong", status: 422)
        }
        defer { server.stop() }
        for (path, content) in [("/short", "the Größe is wrong\n"), ("/long", "\(long.prefix(32_768))\n")] {
            let url = "http://127.0.0.1:\(server.port)\(path)"
            let outcome = try await ExampleTests.run(try Self.program("Upload"), ["-q", url, "a=b"])
            #expect(outcome.status == 1 && outcome.output.hasPrefix("\(content)Upload: POST 127.0.0.1:"))
            // The address is named once, and nothing advises on API of the library.
            #expect(outcome.output.split(separator: path).count == 2 && !outcome.output.contains("idempotencyKey"))
        }
    }

    private static let url = "http://127.0.0.1:1/x"

    @Test(
        .limit(seconds: 60),
        arguments: [
            ("Fetch", ["-o", "-", url], "the standard output is not supported"),
            ("Fetch", ["-o", "x", "-d", "y", url], "use one of them"), ("Fetch", ["-o", "", url], "-o is empty"),
            ("Fetch", ["--directory=", url], "--directory is empty"), ("Fetch", ["-o", "new/", url], "--directory"),
            ("Fetch", ["--quiet=1", url], "--quiet takes no value"),
            ("Fetch", ["--timeout=x", url], "--timeout needs"),
            ("Fetch", ["--", "-x"], "begin it with http:// or https://"), ("Fetch", [url, "\(url)#a"], "given twice"),
            ("Fetch", ["127.0.0.1/x"], "begin it with http:// or https://"), ("Fetch", ["http:///x"], "no host"),
            ("Upload", ["-X", "BAD METHOD", url, "a=b"], "-X needs a method"),
            ("Upload", ["-X", "GET", url, "a=b"], "a GET request has no content"),
            ("Upload", ["-H", "content-type: a/b", url, "a=b"], "omit the header"),
            ("Upload", ["-H", "a b: c", url, "a=b"], "'a b' is not a name"),
            ("Upload", ["--file", "-", url], "write it to a file first"),
            ("Upload", [url, "a=@-"], "write it to a file first"), ("Tour", ["--transport", "foo"], "urlsession"),
            ("Tour", ["--waterfall"], "needs a file"),
        ] as [(String, [String], String)]
    )
    func wrongCommandLineIsExplained(name: String, words: [String], text: String) async throws {
        let outcome = try await ExampleTests.run(try Self.program(name), words)
        let first = outcome.output.prefix { $0 != "\n" }
        #expect(outcome.status == 2 && first.hasPrefix("\(name): ") && first.contains(text), "\(outcome.output)")
        #expect(!outcome.output.contains("UploadFiles") && !outcome.output.contains("GeneralRequest"))
    }

    @Test(.limit(seconds: 60)) func optionsCanBeWrittenWithAnEqualsSign() async throws {
        let server = try MockServer { _ in .text("content") }
        defer { server.stop() }
        let folder = try ExampleTests.Folder()
        let url = "http://127.0.0.1:\(server.port)/a"
        let words = ["-q", "--output=\(folder.file("z").path)", "--", url]
        let outcome = try await ExampleTests.run(try Self.program("Fetch"), words)
        #expect(outcome.status == 0 && folder.text("z") == "content", "\(outcome.output)")
    }
}
