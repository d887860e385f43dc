import Errand
import ErrandTesting
import Foundation
import Testing

/// Requests that cannot be sent: each is a typed, readable error, and nothing is sent.
@Suite struct BadInputTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let request: GeneralRequest<JSONValueFormatter>

        init(_ name: String, _ text: String, _ request: GeneralRequest<JSONValueFormatter>) {
            (testDescription, self.text, self.request) = (name, text, request)
        }
    }

    private static let get = GeneralRequest("/x")
    private static let bytes = RequestBody.data(Data("secret".utf8))

    static let cases: [Case] =
        [
            Case(
                "a port that is none",
                "the host or port is not valid; '/', '?' and '#' in user information are percent-encoded",
                GeneralRequest("http://h:x/")
            ),
            Case("no host", "it has no host", GeneralRequest("http:///secret")),
            Case("one slash", "'http:' is not followed by '//' and a host", GeneralRequest("http:/x")),
            Case("ftp", "the scheme 'ftp' is not supported", GeneralRequest("ftp://secret.example/x")),
            Case("mailto", "the scheme 'mailto' is not supported", GeneralRequest("mailto:secret@x")),
            Case("data", "the scheme 'data' is not supported", GeneralRequest("data:,secret")),
            Case("method with a space", "the method is not a token", get.method("GE T")),
            Case("method with a line break", "the method is not a token", get.method("GET\r\n")),
            Case("method without a letter", "the method is not a token", get.method("")),
            Case("method with an umlaut", "the method is not a token", get.method("GÄT")),
            Case("body of a GET", "a GET request has no body", get.body(bytes)),
            Case("body of a HEAD", "a HEAD request has no body", get.method(.head).body(bytes)),
            Case("body of a TRACE", "a TRACE request has no body", get.method(.trace).body(bytes)),
            Case("JSON body of a GET", "a GET request has no body", get.parameterEncoding(.json).parameters(["a": 1])),
            Case(
                "token with a line break",
                "the value of the header 'Authorization' holds",
                get.authorization(.bearer("secret\r\nX: y"))
            ),
            Case(
                "key with a line break",
                "the value of the header 'Idempotency-Key' holds",
                get.method(.post).idempotencyKey("secret\n")
            ),
            Case(
                "type with a line break",
                "the value of the header 'Content-Type' holds",
                get.method(.post).body(.data(Data("x".utf8), contentType: "text/plain\r\nX: secret"))
            ),
        ]
        + ["X\r\nY", "X\nY", "X Y", " X", "X ", "", "X:", "X\u{0}", "Ü", "X(", "\"X\""].map {
            Case("header name \($0.debugDescription)", "it is not a token", get.header($0, "secret"))
        }
        + ["secret\r\nY: 1", "secret\n", "\rsecret", "sec\u{0}ret", "secret\u{7F}", "\u{1B}secret"].map {
            Case("header value \($0.debugDescription)", "the value of the header 'X-Y' holds", get.header("X-Y", $0))
        }
        + [
            "Content-Length", "transfer-encoding", "CONNECTION", "Host", "Expect", "TE", "Trailer", "Upgrade",
            "Keep-Alive", "Proxy-Connection",
        ].map { Case("reserved \($0)", "the header '\($0)' frames the message", get.header($0, "secret")) }

    @Test(arguments: [
        ("X A", "a header name has ' ' as character 2; it"),
        ("X\r\nY", "a header name has '\\r' as character 2; it"),
        ("", "a header name is empty; it"), ("X: secret", "a header name has ':' as character 2; it"),
        ("X-A\u{0}", "a header name has '\\0' as character 4; it"),
        ("X-A\t", "a header name has '\\t' as character 4; it"),
        // A value in its place.
        ("Bearer secret", "a header name has ' ' as character 7; it"),
        ("secret==", "a header name has '=' as character 7; it"),
        ("\u{1F511}", "a header name has '\\u{0001F511}' as character 1; it"),
    ])
    func mistakeInAHeaderNameIsShownWithoutTheName(name: String, shown: String) async throws {
        let error = await failure { try await Rig().agent.send(Self.get.header(name, "secret")) } as? NetworkError
        let text = "GET api.example/x: \(shown) is not a token of letters, "
        #expect(error?.description.hasPrefix(text) == true, "\(String(describing: error))")
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: [("example.com/a?token=secret", "example.com/a"), ("localhost:1/a", "localhost:1/a"), ("", "")])
    func pathWithoutABaseURLIsShown(path: String, shown: String) async throws {
        let agent = Agent(config: NetworkConfig(), transport: StubTransport { _ in .text("x") })
        let error = await failure { try await agent.send(GeneralRequest(path)) } as? NetworkError
        let text =
            "GET GeneralRequest: the URL cannot be used: the path '\(shown)' is relative, and neither its service nor the config has a "
        #expect(error?.description.hasPrefix(text) == true, "\(String(describing: error))")
    }

    @Test(arguments: cases)
    func itIsATypedErrorAndNothingIsSent(it: Case) async throws {
        let rig = Rig()
        let error = try #require(await failure { try await rig.agent.send(it.request) } as? NetworkError)
        #expect(error.description.contains(it.text), "\(error)")
        #expect(error.kind == .invalidRequest)
        #expect(error.attempts == 0)
        #expect(error.response == nil)
        #expect(!error.description.contains("secret"), "\(error)")
        #expect(error.description.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(error)")
        #expect(error.localizedDescription == error.description)
        await expect(throwing: error.reason) { _ = try await rig.agent.plan(for: it.request) }
        await expect(throwing: error.reason) { _ = try await rig.agent.urlRequest(for: it.request) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test(arguments: ["tab\tinside", "é", "日本", "a, b; c=\"d\"", ""])
    func headerValuesOfAnyPrintableTextAreSent(value: String) async throws {
        #expect(try await Rig().wire(GeneralRequest("/x").header("X-Y", value)).headers["X-Y"] == value)
    }

    struct Checked: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "http://[malformed" }
        func check() throws { throw Boom(id: 5) }
    }

    @Test func errorOfCheckComesFirstAndUnchanged() async {
        let rig = Rig()
        await #expect(throws: Boom(id: 5)) { try await rig.agent.send(Checked()) }
        await #expect(throws: Boom(id: 5)) { try await rig.agent.plan(for: Checked()) }
        #expect(rig.transport.requestCount == 0)
    }

    struct Throwing: Request, Sendable {
        enum Member: CaseIterable { case query, parameters, body }
        typealias Model = JSONValue
        let member: Member
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var query: Parameters { get throws { try fail(.query) ?? [:] } }
        var parameters: Parameters { get throws { try fail(.parameters) ?? [:] } }
        var body: RequestBody { get throws { try fail(.body) ?? .automatic } }
        private func fail<T>(_ member: Member) throws -> T? {
            if member == self.member { throw Boom(id: 6) }
            return nil
        }
    }

    @Test(arguments: Throwing.Member.allCases)
    func errorOfAMemberReachesTheCallerUnchanged(member: Throwing.Member) async {
        let rig = Rig()
        await #expect(throws: Boom(id: 6)) { try await rig.agent.send(Throwing(member: member)) }
        #expect(rig.transport.requestCount == 0)
    }
}
