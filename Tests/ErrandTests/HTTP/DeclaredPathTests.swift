import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct DeclaredPathTests {
    private static let token = "t/CANARY?&=7"
    private static let sent = "t%2FCANARY%3F%26%3D7"

    @Test(arguments: [
        ("/users/7?token=secret", "/users/7"), ("/a#secret", "/a"), ("/a b/é", "/a%20b/%C3%A9"), ("/a%2Fb", "/a%2Fb"),
        ("https://user:secret@a.example/b@c", "/b@c"), ("https://secret@secret@a.example", ""),
        ("https://a.example:8080/@me", "/@me"), ("https://[::1]/@me", "/@me"), ("/users/@me", "/users/@me"), ("", ""),
        ("https://ada:s3/secret@a.example/x", "•••"), ("https://ada:s?secret@a.example?secret", "•••"),
        ("/login?token=secret&next=https://app.example/x", "/login"), ("/cart;id=1", "/cart;id=1"),
        ("a//b", "a//b"), ("users:search/1", "users:search/1"), ("/a\u{1B}[2J", "/a%1B%5B2J"),
    ])
    func pathIsShownAsDeclaredWithoutQueryAndUser(text: String, shown: String) {
        #expect(DeclaredPath.shown(text) == shown)
    }

    @Test(arguments: [
        ("", "/a", "/a"), ("", "a", "/a"), ("/", "a", "/a"), ("/v1", "/a", "/v1/a"), ("/v1/", "a", "/v1/a"),
        ("/v1", "", "/v1"),
    ])
    func pathFollowsTheBaseURLsPath(base: String, path: String, shown: String) {
        #expect(DeclaredPath(path, below: base).shown == shown)
    }

    @Test func secretOfAPathIsSentAndNotShown() async throws {
        let paths = [
            ("/bot\(secret: Self.token)/x", "/bot\(Self.sent)/x", "/bot•••/x"),
            ("/\(secret: Self.token)", "/\(Self.sent)", "/•••"),
            ("bot/\(secret: Self.token)", "/bot/\(Self.sent)", "/bot/•••"),
            ("https://api.example/\(secret: Self.token)/x", "/\(Self.sent)/x", "/•••/x"),
            ("/x?key=\(secret: Self.token)", "/x?key=\(Self.sent)", "/x"),
            ("/\(secret: Self.token)/\(component: "a/b")/\(secret: 5)", "/\(Self.sent)/a%2Fb/5", "/•••/a%2Fb/•••"),
        ]
        for (path, sent, shown) in paths {
            let log = Record<String>()
            let config = NetworkConfig.test { $0.accessories = [LoggingAccessory(level: .events) { log.add($0) }] }
            let rig = Rig(config: config, response: .json("1", status: 404))
            // Built anew, and from the URL of the latest one.
            for _ in 0..<2 {
                let error = await failure { try await rig.agent.send(GeneralRequest(path)) } as? NetworkError
                #expect(error?.path == shown)
                log.add("\(try #require(error))")
            }
            _ = await failure { try await rig.agent.get(path) as Int }
            let plan = try await rig.agent.plan(for: GeneralRequest(path))
            for text in ["\(plan)", plan.curl, "\(plan.context)", "\(GeneralRequest(path))", plan["path"]?.value ?? ""]
            { log.add(text) }
            #expect(
                rig.transport.requests.map(\.url.absoluteString)
                    == Array(repeating: "https://api.example\(sent)", count: 3)
            )
            #expect(!log.all.contains { $0.contains("CANARY") || $0.contains("\u{2}") }, "\(log.all)")
        }
    }

    @MainActor @Test func secretOfAPathIsSentFromTheMainActor() async throws {
        struct Messages: Request {
            typealias Model = JSONValue
            let token: String
            var path: String { "/bot\(secret: token)/messages" }
        }
        let rig = Rig(response: .json("1"))
        _ = try await rig.agent.send(Messages(token: Self.token))
        #expect(rig.transport.requests.map { $0.url.path() } == ["/bot\(Self.sent)/messages"])
    }

    @Test func secretOfABaseURLIsSentAndNotShown() async throws {
        let base = try BaseURL("https://api.example/bot\(secret: Self.token)/v1?key=CANARY")
        let rig = Rig(config: NetworkConfig(baseURL: base), response: .json("1", status: 404))
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError)
        #expect(rig.transport.requests.first?.url.path() == "/bot\(Self.sent)/v1/x")
        #expect(error.path == "/bot•••/v1/x" && "\(base)" == "https://api.example/bot•••/v1")
    }

    /// A mark hides no dots from the check of the path.
    @Test(arguments: [
        "/a/\(secret: "..")/b", "https://api.example/a/\(secret: "..")", "/\(secret: "CANARY")/../b",
        "/\(secret: "CANARY")#x",
    ])
    func pathWithASecretIsCheckedLikeEveryOther(path: String) async throws {
        let error = try #require(await failure { try await Rig().agent.send(GeneralRequest(path)) } as? NetworkError)
        #expect(error.kind == .invalidRequest && !"\(error)".contains("CANARY"), "\(error)")
    }

    @Test func marksOutsideOfAPathAreRejected() async throws {
        let request = GeneralRequest("/x").header("Authorization", "Bearer \(secret: "CANARY")")
        let error = try #require(await failure { try await Rig().agent.send(request) } as? NetworkError)
        #expect(error.description.contains("the value of the header 'Authorization' holds"))
    }

    @Test func whatAURLFilterAddsToThePathIsNotShown() async throws {
        struct Tenant: URLFilter {
            func filter(_ url: URL, for context: RequestContext) -> URL { url.appending(path: "CANARY") }
        }
        struct Signing: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
                request.url.append(path: "CANARY2")
            }
        }
        let config = NetworkConfig.test { ($0.urlFilters, $0.adapters) = ([Tenant()], [Signing()]) }
        let rig = Rig(config: config, response: .json("1", status: 404))
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError)
        #expect(rig.transport.requests.first?.url.path() == "/x/CANARY/CANARY2" && error.path == "/x")
        let plan = try await rig.agent.plan(for: GeneralRequest("/x"))
        #expect(plan.curl == "curl 'https://api.example/x'" && !"\(plan)".contains("CANARY"))
    }
}
