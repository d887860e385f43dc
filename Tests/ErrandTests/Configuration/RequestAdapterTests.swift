import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct RequestAdapterTests {
    @Test func theConfigsRunBeforeTheServicesOnTheFinalRequest() async throws {
        let seen = Record<String>()
        func adapter(_ name: String) -> ClosureAdapter {
            ClosureAdapter { request, context in
                seen.add("\(name) \(request.url.query() ?? "") \(try request.bodyText()) \(context.attempt)")
                request.headers.add("X-Order", name)
            }
        }
        let config = NetworkConfig.test { $0.adapters = [adapter("1"), adapter("2")] }
        var service = Service(id: "s")
        service.adapters = [adapter("3")]
        let request = GeneralRequest("/x").service(service).method(.post).query(["q": 1]).parameters(["p": 2])
        let sent = try await Rig(config: config).wire(request)
        #expect(sent.headers.values(for: "X-Order") == ["1", "2", "3"])
        #expect(seen.all == ["1", "2", "3"].map { "\($0) q=1 {\"p\":2} 1" })
    }

    @Test func everythingItChangesIsSent() async throws {
        let adapter = ClosureAdapter { request, _ in
            request.method = .put
            request.url.append(queryItems: [URLQueryItem(name: "sig", value: "a")])
            request.body = .data(Data("new".utf8))
            request.headers["Content-Type"] = "text/plain"
        }
        let rig = Rig(config: .test { $0.adapters = [adapter] })
        let sent = try await rig.wire(GeneralRequest("/x").method(.post).parameters(["a": 1]))
        #expect(sent.method == .put)
        #expect(sent.url.absoluteString == "https://api.example/x?sig=a")
        #expect(try sent.bodyText() == "new")
        #expect(sent.headers["Content-Type"] == "text/plain")
    }

    @Test func previewsShowItsChanges() async throws {
        let rig = Rig(config: .test { $0.adapters = [ClosureAdapter { request, _ in request.headers["X-Sig"] = "s" }] })
        #expect(try await rig.agent.urlRequest(for: GeneralRequest("/x")).value(forHTTPHeaderField: "X-Sig") == "s")
        #expect(try await rig.agent.plan(for: GeneralRequest("/x")).request.headers["X-Sig"] == "s")
        #expect(rig.transport.requestCount == 0)
    }

    @Test func itsErrorReachesTheCallerUnchangedAndNothingIsSent() async {
        let rig = Rig(config: .test { $0.adapters = [ClosureAdapter { _, _ in throw Boom(id: 3) }] })
        await #expect(throws: Boom(id: 3)) { try await rig.agent.send(GeneralRequest("/x")) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func userInformationThatItAddsIsStripped() async throws {
        let url = try #require(URL(string: "HTTP://u:p@other.example"))
        let rig = Rig(config: .test { $0.adapters = [ClosureAdapter { request, _ in request.url = url }] })
        #expect(try await rig.wire(GeneralRequest("/x")).url.absoluteString == "http://other.example/")
    }

    struct Break: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let change: @Sendable (inout OutgoingRequest) throws -> Void
    }

    static let breaks: [Break] = [
        Break(testDescription: "method", text: "the method is not a token") { $0.method = "GE T" },
        Break(testDescription: "no method", text: "the method is not a token") { $0.method = "" },
        Break(testDescription: "name with line break", text: "it is not a token") { $0.headers.add("X\r\nY", "1") },
        Break(testDescription: "value with line break", text: "the value of the header 'X' holds") {
            $0.headers.add("X", "a\r\nSet-Cookie: b")
        },
        Break(testDescription: "reserved", text: "the header 'host' frames the message") {
            $0.headers["host"] = "evil.example"
        },
        Break(testDescription: "body of a GET", text: "a GET request has no body") { $0.body = .data(Data("x".utf8)) },
        Break(testDescription: "scheme", text: "the scheme 'ftp' is not supported") {
            $0.url = try #require(URL(string: "ftp://x"))
        },
        Break(testDescription: "relative", text: "it has no scheme") {
            $0.url = try #require(URL(string: "/x"))
        },
        Break(testDescription: "no host", text: "it has no host") {
            $0.url = try #require(URL(string: "http:///x"))
        },
    ]

    @Test(arguments: breaks)
    func invalidChangesAreRejected(it: Break) async {
        let rig = Rig(config: .test { $0.adapters = [ClosureAdapter { request, _ in try it.change(&request) }] })
        let error = await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError
        #expect(error?.description.contains(it.text) == true, "\(String(describing: error))")
        await expect(throwing: error?.reason ?? .other("")) {
            _ = try await rig.agent.urlRequest(for: GeneralRequest("/x"))
        }
        #expect(rig.transport.requestCount == 0)
    }
}
