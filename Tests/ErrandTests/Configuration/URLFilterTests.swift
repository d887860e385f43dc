import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct URLFilterTests {
    private struct Appending: URLFilter {
        let name: String
        var seen: Record<String> = Record()
        func filter(_ url: URL, for context: RequestContext) throws -> URL {
            seen.add("\(name): \(url.absoluteString) \(context.url?.absoluteString ?? "nil")")
            return url.appending(path: name)
        }
    }

    private struct Replacing: URLFilter {
        let text: String
        func filter(_ url: URL, for context: RequestContext) throws -> URL { try #require(URL(string: text)) }
    }

    private struct Failing: URLFilter {
        func filter(_ url: URL, for context: RequestContext) throws -> URL { throw Boom(id: 7) }
    }

    @Test func theConfigsRunBeforeTheServicesInOrderAndBeforeParameters() async throws {
        let seen = Record<String>()
        let config = NetworkConfig.test {
            $0.urlFilters = [Appending(name: "a", seen: seen), Appending(name: "b", seen: seen)]
        }
        var service = Service(id: "s")
        service.urlFilters = [Appending(name: "c", seen: seen)]
        let request = GeneralRequest("x?q=1").service(service).parameters(["p": 2])
        let url = try await Rig(config: config).wire(request).url.absoluteString
        #expect(url == "https://api.example/x/a/b/c?q=1&p=2")
        let base = "https://api.example/x"
        #expect(
            seen.all == [
                "a: \(base)?q=1 \(base)?q=1", "b: \(base)/a?q=1 \(base)/a?q=1", "c: \(base)/a/b?q=1 \(base)/a/b?q=1",
            ]
        )
    }

    @Test func absolutePathsAreFilteredToo() async throws {
        let config = NetworkConfig.test { $0.urlFilters = [Appending(name: "a")] }
        #expect(
            try await Rig(config: config).wire(GeneralRequest("http://other.example/x")).url.absoluteString
                == "http://other.example/x/a"
        )
    }

    @Test func itsErrorReachesTheCallerUnchangedAndNothingIsSent() async {
        let rig = Rig(config: .test { $0.urlFilters = [Appending(name: "a"), Failing(), Appending(name: "never")] })
        await #expect(throws: Boom(id: 7)) { try await rig.agent.send(GeneralRequest("/x")) }
        await #expect(throws: Boom(id: 7)) { try await rig.agent.plan(for: GeneralRequest("/x")) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test(arguments: ["ftp://x/y", "/relative", "mailto:a@b", "relative"])
    func itsResultIsValidated(text: String) async throws {
        let rig = Rig(config: .test { $0.urlFilters = [Replacing(text: text)] })
        await expect(kind: .invalidRequest) { try await rig.agent.send(GeneralRequest("/x")) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func userInformationThatItAddsIsStripped() async throws {
        let rig = Rig(config: .test { $0.urlFilters = [Replacing(text: "HTTPS://u:p@x.example/y?z=1")] })
        #expect(try await rig.wire(GeneralRequest("/x")).url.absoluteString == "https://x.example/y?z=1")
    }
}
