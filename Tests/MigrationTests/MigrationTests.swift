import Errand
import ErrandTesting
import Foundation
import Testing

/// The examples of the ancestors' guides, and what they do on the wire.
@Suite(.limit(seconds: 60)) @MainActor struct MigrationTests {
    private let server: MockServer
    private let cdn: MockServer
    private let agent: Agent

    init() throws {
        let user = #"{"id":7,"name":"ann"}"#
        server = try MockServer { request in
            switch (request.method, request.target.split(separator: "?").first) {
            case (.post, "/login"): .json(#"{"token":"t"}"#)
            case (.post, "/register"), (.get, "/user"): .json(user)
            case (.post, "/avatar"): .json(user)
            case (.post, "/files"): .text("\(request.headers["Content-Encoding"] ?? "-") \(request.body.count)")
            default: .status(404)
            }
        }
        cdn = try MockServer { .text($0.target) }
        agent = makeAgent(server.baseURL, cdn: cdn.baseURL)
    }

    /// Without the tests, which every use of an example would need as well.
    @Test func theExamplesHaveAtMost110Lines() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Examples.swift")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let isCode = { (line: String) in !line.isEmpty && !line.hasPrefix("//") && !line.hasPrefix("#") }
        let count = lines.filter { isCode($0) && !$0.hasPrefix("import ") }.count
        #expect(count <= 110, "\(count) lines")
    }

    @Test func loginSendsAForm() async throws {
        #expect(try await agent.send(Login(name: "ann", password: "a&b")).token == "t")
        let request = try #require(server.requests.last)
        #expect(request.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true)
        #expect(String(decoding: request.body, as: UTF8.self) == "name=ann&password=a%26b")
    }

    @Test func aResponseThatIsNotValidFails() async throws {
        server.enqueue(.json(#"{"id":"seven","name":"ann"}"#))
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(Register(name: "ann", password: "x"))
        }
        #expect(error?.kind == .unacceptableContent)
    }

    @Test func theUserIsCached() async throws {
        for _ in 0..<2 { #expect(try await agent.send(GetUser(id: 7)) == User(id: 7, name: "ann")) }
        #expect(server.requests.map(\.target) == ["/user?id=7"])
    }

    @Test func theBlockIsCalledWithTheModel() async throws {
        let name = await withCheckedContinuation { done in register(agent) { done.resume(returning: $0) } }
        #expect(name == "ann")
        #expect(String(decoding: server.requests[0].body, as: UTF8.self) == #"{"name":"ann","password":"x"}"#)
    }

    @Test func theDelegateIsCalledWithTheModelOrTheError() async throws {
        let screen = Screen()
        screen.load(agent)
        while screen.text.isEmpty { await Task.yield() }
        #expect(screen.text == "ann")
        screen.text = ""
        server.stop()
        await agent.config.cache?.removeAll()
        screen.load(agent)
        while screen.text.isEmpty { await Task.yield() }
        #expect(screen.text.contains("/user"))
    }

    @Test func theImageComesFromTheCDN() async throws {
        #expect(try await agent.send(GetImage(id: "a/b")) == Data("/images/a%2Fb".utf8))
        #expect(server.requestCount == 0)
    }

    @Test func theArgumentIsAddedToEachURL() async throws {
        agent.updateConfig { $0.urlFilters = [ArgumentFilter(version: "1.2")] }
        _ = try await agent.send(GetUser(id: 7))
        _ = try await agent.send(Login(name: "ann", password: "x"))
        #expect(server.requests.map(\.target) == ["/user?version=1.2&id=7", "/login?version=1.2"])
    }

    @Test func aBatchOfFourReturnsAllModels() async throws {
        let (images, user) = try await loadAll(agent)
        #expect(images == ["a", "b", "c"].map { Data("/images/\($0)".utf8) })
        #expect(user.id == 7)
    }

    @Test func aChainUsesTheModelOfItsFirstRequest() async throws {
        #expect(try await registerAndLoad(agent).id == 7)
        #expect(server.requests.map(\.target) == ["/register", "/user?id=7"])
    }

    @Test func theStoredUserIsShownFirst() async throws {
        _ = try await agent.send(GetUser(id: 7))
        var shown: [Bool] = []
        try await showCachedFirst(agent) { user, isFromCache in
            #expect(user.id == 7)
            shown.append(isFromCache)
        }
        #expect(shown == [true, false])
    }

    @Test func aCustomRequestIsSentAsItIs() async throws {
        let url = server.baseURL.appending(path: "files")
        #expect(try await agent.send(Upload(url: url, zipped: Data(repeating: 1, count: 300))) == "gzip 300")
    }

    @Test func aFormIsUploadedWithItsProgress() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).jpg")
        try Data("JPEG".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (shown, continuation) = AsyncStream.makeStream(of: Double.self)
        let user = try await upload(file, agent) { continuation.yield($0) }
        #expect(user.id == 7)
        continuation.finish()
        var last = 0.0
        for await fraction in shown { last = fraction }
        #expect(last == 1)
        let request = try #require(server.requests.last)
        #expect(request.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(
            request.text.contains(
                "name=\"photo\"; filename=\"\(file.lastPathComponent)\"\r\nContent-Type: image/jpeg\r\n"
            )
        )
    }
}
