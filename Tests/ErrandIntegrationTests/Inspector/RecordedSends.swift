import Errand
import ErrandInspector
import ErrandTesting
import Foundation
import Testing

/// Sends of each kind, recorded over real sockets.
enum RecordedSends {
    struct Item: Request {
        typealias Model = JSONValue
        let id: Int
        var path: String { "/items/\(id)" }
        var cachePolicy: CachePolicy { id == 9 ? .cacheElseNetwork(maxAge: .seconds(60)) : .networkOnly }
    }

    private struct List: Request {
        typealias Model = [JSONValue]
        var path: String { "/list" }
    }

    private struct Tokens: Authenticator {
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(credential)"
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String {
            _ = try await agent.send(GeneralRequest("/token").method(.post).parameters(["refresh": credential]))
            return "new"
        }
    }

    /// A batch within a batch, a refresh, a chain, two pages, a stored response, a redirect, a repetition, a rejection, a form, and
    /// a server that is not there.
    static func make() async throws -> FlightRecorder {
        let (recorder, session) = (FlightRecorder(), AuthenticationSession(Tokens(), credential: "old"))
        let server = try MockServer { request in
            request.headers["Authorization"] == "Bearer new" || request.path == "/token"
                ? .json(#"{"id":1,"name":"Zoë"}"#) : .status(401)
        }
        defer { server.stop() }
        server.on(.get, "/list", .json("[1]"))
        server.on(.get, "/moved", .redirect(to: "/items/1?page=2", status: 302))
        server.on(.get, "/missing", .json(#"{"error":"no such item","token":"s3cret"}"#, status: 404))
        let agent = server.agent {
            $0.accessories = [recorder]
            $0.authentication = .session(session)
            $0.cache = ResponseCache(disk: nil)
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(20))
        }
        _ = try await agent.send(BatchRequest(Item(id: 1), BatchRequest(Item(id: 2), Item(id: 3))))
        _ = try await agent.send(ChainRequest(Item(id: 4)).then { _ in Item(id: 5) })
        for try await _ in agent.pages(of: List(), by: .number(), upTo: .requests(2)) {}
        for _ in 0..<2 { _ = try await agent.send(Item(id: 9)) }
        _ = try await agent.send(GeneralRequest("/moved"))
        server.enqueue(.status(503))
        _ = try await agent.send(Item(id: 7).tag("repeated"))
        await #expect(throws: NetworkError.self) { try await agent.send(GeneralRequest("/missing")) }
        _ = try await agent.send(GeneralRequest("/form").method(.post).body(.form(["page": 1, "password": "s3cret"])))
        let nobody = GeneralRequest("http://127.0.0.1:1/x").retryPolicy(.never)
        await #expect(throws: NetworkError.self) { try await agent.send(nobody) }
        return recorder
    }

    /// Runs a program, and returns what it prints; what it writes to the standard error is dropped.
    static func output(of program: URL, _ arguments: [String]) throws -> (status: Int32, text: String) {
        let (process, output) = (Process(), Pipe())
        (process.executableURL, process.arguments) = (program, arguments)
        process.standardInput = FileHandle.nullDevice
        (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    /// A Python with jsonschema and haralyzer, or `nil`.
    static let python = ProcessInfo.processInfo.environment["ERRAND_PYTHON"].map { URL(filePath: $0) }

    /// A Chromium, or `nil`.
    static let browser = ["chromium", "chromium-browser", "google-chrome"].map { URL(filePath: "/usr/bin/\($0)") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }
}
