import ErrandTesting
import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The members of a request are read after `check()`, which may protect or prepare them.
@Suite struct CheckOrderTests {
    private final class Logged: Request {
        typealias Model = String
        let log: Record<String>
        var token = "none"

        init(_ log: Record<String>) { self.log = log }

        var path: String {
            log.add("path")
            return "/x"
        }

        var headers: HTTPHeaders {
            log.add("headers")
            return ["X-Token": token]
        }

        func check() {
            log.add("check")
            token = "set by check"
        }

        var accessories: [any Accessory] {
            [ClosureAccessory { [log] _, event in if case .willStart = event { log.add("willStart") } }]
        }
    }

    @Test func willStartPrecedesCheck() async throws {
        let log = Record<String>()
        let rig = Rig { _ in .text("a") }
        _ = try await rig.agent.send(Logged(log))
        #expect(Array(log.all.prefix(2)) == ["willStart", "check"])
        #expect(log.all.count { $0 == "path" } == 1)
        #expect(rig.transport.requests.last?.headers["X-Token"] == "set by check")
    }

    private struct Checked: Request {
        typealias Model = String
        struct Missing: Error {}
        var id: Int?
        let read: Record<Void>

        var path: String {
            read.add(())
            return "/users/\(id ?? 0)"
        }

        func check() throws { if id == nil { throw Missing() } }
    }

    @Test func noMemberIsReadIfCheckFails() async throws {
        let read = Record<Void>()
        await #expect(throws: Checked.Missing.self) { try await Rig().agent.send(Checked(read: read)) }
        #expect(read.all.isEmpty)
    }

    private struct Custom: Request {
        typealias Model = String
        let read: Record<Void>

        var path: String {
            read.add(())
            return ""
        }

        func customURLRequest() throws -> URLRequest? {
            URL(string: "https://api.example/x").map { URLRequest(url: $0) }
        }
    }

    @Test func thePathOfACustomRequestIsNotRead() async throws {
        let read = Record<Void>()
        let rig = Rig { _ in .text("a") }
        #expect(try await rig.agent.send(Custom(read: read)) == "a")
        #expect(read.all.isEmpty)
    }
}
