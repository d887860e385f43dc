import Errand
import ErrandInspector
import ErrandTesting
import Foundation
import Testing

/// No text contains a value: error, description, dump, plan, command line, log, archive, page, figures and drift, with a canary
/// wherever a value can be.
@Suite(.limit(seconds: 60))
struct CanaryTests {
    private static let canary = "CANARY-7f3a"
    /// A part of `Content-Type`, which a log of header fields and a recorder show, and nothing else: its name is listed as harmless.
    private static let shownParameter = "profile=\(canary)"

    private struct Leaky: Error { let text: String }
    private struct Profile: Decodable, Sendable {
        enum Grade: String, Decodable { case gold }
        let born: Date
        let grade: Grade?
    }

    /// What the inspector sees.
    private struct Inspector {
        let recorder = FlightRecorder()
        let statistics = SendStatistics()
        let drift = JSONDrift()

        /// What it exports, and all that is reachable from it.
        var texts: [String] {
            [recorder.har(), statistics.json].map { String(decoding: $0, as: UTF8.self) }
                + [recorder.waterfall(), statistics.table, "\(drift)"]
                + CanaryTests.texts(
                    of: [recorder.sends, recorder, statistics.all, statistics, drift.findings, drift] as [Any]
                )
        }
    }

    /// The outcomes of a send.
    enum Fate: CaseIterable {
        case success, status, serviceError, undecodable, unknownGrade, notJSON, reset, system, retried, redirected,
            insecureRedirect

        /// The response to the nth request, with the canary wherever a response can hold one.
        func response(_ number: Int) throws -> TransportResponse {
            let secret = #"{"accessToken": "\#(canary)", "any": ["\#(canary)"], "born": "\#(canary)"}"#
            let headers: HTTPHeaders = [
                "Set-Cookie": "sid=\(canary)", "Content-Type": "application/json; \(shownParameter)",
                "X-Any": canary,
                "Link": "</\(canary)?a=\(canary)>; rel=next",
            ]
            func json(_ text: String, status: Int = 200) -> TransportResponse {
                .json(text, status: status, headers: headers)
            }
            switch self {
            case .success: return json(#"{"code": 0, "data": {"born": 1}}"#)
            case .status: return json(secret, status: 500)
            case .serviceError: return json(#"{"code": 40001, "msg": "no such user", "data": \#(secret)}"#)
            case .undecodable: return json(#"{"code": 0, "data": \#(secret)}"#)
            case .unknownGrade: return json(#"{"code": 0, "data": {"born": 1, "grade": "\#(canary)"}}"#)
            case .notJSON: return json(#"{"code": 0, "data": "\#(canary)"#)
            case .reset: throw NetworkError(.connectionReset, underlying: Leaky(text: canary))
            case .system:
                let info = [
                    NSLocalizedDescriptionKey: canary, "NSErrorFailingURLStringKey": "http://u:\(canary)@proxy",
                ]
                throw NetworkError(.refreshFailed, underlying: NSError(domain: "proxy", code: 407, userInfo: info))
            case .retried: return number == 1 ? json(secret, status: 503) : json(#"{"code": 0, "data": {"born": 1}}"#)
            case .redirected where number > 1: return json(#"{"code": 0, "data": {"born": 1}}"#)
            case .redirected, .insecureRedirect:
                let scheme = self == .redirected ? "https" : "http"
                let target =
                    "\(scheme)://u:\(canary)@other.example/\(canary)/next;t=\(canary)?any=\(canary)&\(canary)#\(canary)"
                return .status(302, headers: ["Location": target])
            }
        }
    }

    private static func config(
        _ log: Record<String>,
        _ level: LoggingAccessory.Level,
        _ inspector: Inspector
    ) -> NetworkConfig {
        var config = NetworkConfig(baseURL: "https://user:CANARY-7f3a@api.example/v1")
        config.environment = ["SECRET": canary, "https_proxy": "http://u:\(canary)@proxy.example"]
        config.authorization = .bearer(canary)
        config.headers = ["X-Api-Key": canary, "Cookie": "sid=\(canary)", "X-Any": canary]
        config.parameters = ["signature": canary, "any": canary]
        config.urlFilters = [Adding()]
        config.adapters = [Adding()]
        config.interceptors = [Adding()]
        config.filter = EnvelopeFilter(code: "code", message: "msg", data: "data", success: [0])
        config.retryPolicy = RetryPolicy(
            maximumAttempts: 2,
            baseDelay: .milliseconds(1),
            maximumDelay: .milliseconds(1)
        )
        config.accessories = [
            LoggingAccessory(level: level) { log.add($0) },
            LoggingAccessory(level: level, format: .json) { log.add($0) },
            EverythingAccessory(log: log), inspector.recorder, inspector.statistics, inspector.drift,
        ]
        return config
    }

    /// Adds components to the path, pairs without a name to the query, and header fields.
    private struct Adding: URLFilter, RequestAdapter, Interceptor {
        func filter(_ url: URL, for context: RequestContext) -> URL { url.appending(path: "tenant-\(canary)") }

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
            let query = request.url.query().map { $0 + "&" } ?? ""
            let text = "https://api.example/\(canary)\(request.url.path())?\(query)\(canary)=="
            request.url = URL(string: text) ?? request.url
            request.headers["X-Adapted"] = canary
        }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            request.url.append(path: ";t=\(canary)")
            request.headers["X-Intercepted"] = canary
            return try await next(request)
        }
    }

    /// Prints every event in every way that Swift has.
    private struct EverythingAccessory: Accessory {
        let log: Record<String>
        let exchangeBodyLimit: Int? = 1 << 20

        func request(_ context: RequestContext, exchanged exchange: Exchange) {
            for line in CanaryTests.texts(of: exchange) + [exchange.curl(hiding: context.secrets)] { log.add(line) }
        }

        func request(_ context: RequestContext, did event: AccessoryEvent) {
            for line in CanaryTests.texts(of: context) + CanaryTests.texts(of: event) { log.add(line) }
        }
    }

    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
            + ((value as? any Error).map { [$0.localizedDescription] } ?? [])
    }

    private static func leaks(_ text: String) -> Bool {
        text.replacing(shownParameter, with: "").contains(canary)
    }

    private static let requests: [GeneralRequest<JSONFormatter<Profile>>] = {
        let base = GeneralRequest("/users", formatter: JSONFormatter<Profile>()).query([
            "access_token": canary, "any": canary, "url": "https://u:\(canary)@host/?page=\(canary)",
        ])
        .headers(["Cookie": "sid=\(canary)", "Referer": "https://u:\(canary)@host/\(canary)"])
        .attribute("token", canary)
        return [
            base,
            base.path("/bot\(secret: canary)/x?\(canary)"),
            base.method(.post).body(.form(["password": canary, "any": canary])),
            base.method(.put).body(.json(["user": ["any": canary, "list": canary]])),
            base.method(.put).body(.multipart { $0.append(canary, name: "any") }),
            base.method(.post).duplicateKey(canary).cacheIdentity(CacheIdentity(variant: canary, user: canary)),
            base.method(.put).body(.data(Data(canary.utf8))),
            GeneralRequest(
                "https://u:\(canary)@api.example/x?pin=\(canary)#\(canary)",
                formatter: JSONFormatter<Profile>()
            ),
        ]
    }()

    @Test(arguments: Fate.allCases, [LoggingAccessory.Level.failures, .outcomes, .events, .headers, .bodies])
    func secretsAreAlwaysRedacted(_ fate: Fate, _ level: LoggingAccessory.Level) async throws {
        for request in Self.requests {
            let log = Record<String>()
            let number = Lock(0)
            let inspector = Inspector()
            let config = Self.config(log, level, inspector)
            let rig = Rig(config: config) { _ in try fate.response(number.next()) }
            do {
                let response = try await rig.agent.response(for: request)
                for line in Self.texts(of: response) + Self.texts(of: response.raw) { log.add(line) }
                for line in Self.texts(of: response.payload) { log.add(line) }
            } catch {
                for line in Self.texts(of: error) { log.add(line) }
                let network = error as? NetworkError
                let response = network?.response ?? (error as? ServiceError)?.response
                for line in response.map(Self.texts) ?? [] { log.add(line) }
            }
            let plan = try await rig.agent.plan(for: request)
            for value in [plan, plan.request, plan.request.body, config, try request.body] as [Any] {
                for line in Self.texts(of: value) { log.add(line) }
            }
            for sent in rig.transport.requests {
                #expect("\(sent.headers.map(\.value)) \(sent.url)".contains(Self.canary), "the canary was sent")
                for line in Self.texts(of: sent) { log.add(line) }
            }
            log.add(plan.curl)
            #expect(inspector.recorder.sends.count == 1 && inspector.statistics.all.count == 1)
            for text in inspector.texts { #expect(!Self.leaks(text), "\(fate), \(level)") }
            #expect(!log.all.isEmpty)
            let isOfFields = { (line: String) in line.contains("\n< ") || line.contains(#""event":"exchange""#) }
            for line in log.all {
                let isLeak = isOfFields(line) ? Self.leaks(line) : line.contains(Self.canary)
                #expect(!isLeak, "\(fate), \(level)")
            }
        }
    }

    @Test func secretsAreRedactedWhileSendsAreInFlight() async throws {
        let (inspector, log, arrived, open) = (Inspector(), Record<String>(), Lock(0), Gate())
        let rig = Rig(config: Self.config(log, .bodies, inspector)) { _ in
            // Half of them have an exchange behind them.
            if arrived.next() <= 32 { return try Fate.redirected.response(1) }
            try await open.pass()
            return try Fate.serviceError.response(1)
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                let request = Self.requests[number % 4].path("/users/\(number)")
                group.addTask { _ = try? await rig.agent.send(request.header("Idempotency-Key", "\(number)")) }
            }
            await open.waitForArrivals(64)
            #expect(inspector.recorder.sends.filter { $0.outcome == .running && $0.duration > .zero }.count == 64)
            for text in inspector.texts { #expect(!Self.leaks(text)) }
            open.open()
        }
        for text in inspector.texts + log.all { #expect(!Self.leaks(text)) }
        #expect(inspector.statistics.all.map(\.count) == [64])
    }

    @Test func namesThatTheConfigShowsApplyToTheLogAndToTheCommandLine() async throws {
        let log = Record<String>()
        var config = NetworkConfig(baseURL: "https://api.example")
        config.secrets.shown = ["color", "X-Color"]
        config.accessories = [LoggingAccessory(level: .events) { log.add($0) }]
        let rig = Rig(config: config, response: .json("1"))
        let request = GeneralRequest("/cards").query(["color": "red", "other": Self.canary]).headers(["X-Color": "red"])
        _ = try await rig.agent.send(request)
        #expect(log.all.contains { $0.contains("api.example/cards?color=red&other=•••: 200") }, "\(log.all)")
        let curl = try await rig.agent.plan(for: request).curl
        #expect(curl == "curl 'https://api.example/cards?color=red&other=•••' -H 'X-Color: red'")
        #expect(RequestContext(secrets: config.secrets).secrets == config.secrets)
    }

    @Test func anAccessoryOfOnesOwnShowsTheURLOfTheContext() async throws {
        let log = Record<String>()
        let printing = ClosureAccessory { context, _ in log.add(context.shownURL ?? "none") }
        let rig = Rig(config: .test { $0.accessories = [printing] }, response: .json("1"))
        _ = try await rig.agent.send(GeneralRequest("/a/\(secret: Self.canary)").query(["b": Self.canary, "page": 2]))
        #expect(Set(log.all) == ["none", "https://api.example/a/•••?b=•••&page=2"])
    }

    @Test func heldSecretsAreNotDumped() async throws {
        struct Tokens: Authenticator {
            let clientSecret = CanaryTests.canary
            func appliesTo(_ url: URL) -> Bool { true }
            func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {}
            func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        }
        let session = AuthenticationSession(Tokens(), credential: Self.canary)
        let base = try BaseURL("https://api.example/v1?api_key=\(Self.canary)")
        let rig = Rig(config: NetworkConfig(baseURL: base)) { _ in .json(#"[{"jsonrpc": "2.0", "result": 1, "id": 1}]"#)
        }
        let responses = try await rig.agent.send(GeneralRequest("/rpc").calling(batch: JSONRPCCall<Int>("one", id: 1)))
        let request = GeneralRequest("/x?token=\(Self.canary)").parameters(["a": Self.canary]).header("A", Self.canary)
        let call = JSONRPCCall<Int>("login", ["password": .string(Self.canary)])
        let entry = CacheEntry(
            RawResponse(
                headers: ["A": Self.canary],
                url: try #require(URL(string: "https://a.example/x?token=\(Self.canary)"))
            ),
            requested: Date()
        )
        let stored = StoredEntry(key: CacheKey("1"), entry: entry, byteCount: 1)
        let cache = ResponseCache(disk: nil)
        let values: [Any] = [
            session, Authentication.session(session), base, responses, request, call, entry, stored, cache,
        ]
        #expect("\(request)" == "GET /x" && "\(call)" == "JSONRPCCall<Int>" && "\(cache)" == "ResponseCache")
        for value in values {
            for text in Self.texts(of: value) { #expect(!text.contains(Self.canary), "\(type(of: value))") }
        }
        #expect("\(base)" == "https://api.example/v1" && "\(responses)" == "JSONRPCResponses")
    }

    /// With a mark after it, an apostrophe is part of another `Character`.
    @Test func shellExecutesNothingThatIsInABody() async throws {
        let rig = Rig(config: .test { $0.secrets.shown = ["text", "X-A"] })
        for mark in ["", "\u{301}", "\u{FE0F}", "\u{200D}", "\u{9B}2J", "\u{202E}", "\u{7F}"] {
            let text = "'\(mark);echo INJECTED;#'\(mark)"
            let request = GeneralRequest("/x").method(.post).parameters(["text": text]).header("X-A", "'\u{301};id;'")
            let line = try await rig.agent.plan(for: request).curl
            #expect(!line.unicodeScalars.contains { 0x7F...0x9F ~= $0.value || $0 == "\u{202E}" || $0.value < 0x20 })
            let isControl = mark.unicodeScalars.contains { 0x7F...0x9F ~= $0.value || $0 == "\u{202E}" }
            guard !isControl else {
                #expect(line.hasSuffix("bytes)"), "\(line)")
                continue
            }
            let (shell, output) = (Process(), Pipe())
            shell.executableURL = URL(filePath: "/bin/sh")
            shell.arguments = ["-c", line.replacing("curl", with: "printf '%s\\n'", maxReplacements: 1)]
            shell.standardOutput = output
            try shell.run()
            let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            shell.waitUntilExit()
            let body = try #require(lines.split(separator: "\n").last)
            struct Sent: Decodable { let text: String }
            #expect(try JSONDecoder().decode(Sent.self, from: Data(body.utf8)).text == text)
        }
        let form = GeneralRequest("/x").method(.post)
            .body(.data(Data("page=1\n2".utf8), contentType: "application/x-www-form-urlencoded"))
        #expect(try await Rig().agent.plan(for: form).curl.hasSuffix(" --data-binary (8 bytes)"))
    }

    /// A request that was not validated, such as in an interceptor.
    @Test func namesThatAreNoTokensAreNotInTheLine() throws {
        var request = OutgoingRequest(
            method: HTTPMethod(rawValue: "GET\u{1B}[2J"),
            url: try #require(URL(string: "http://a.example"))
        )
        request.headers.add("X\ntouch /tmp/p\n#", "v\u{1}")
        request.headers.add("X); id; (", "v\u{1}")
        let line = request.curl(hiding: Secrets(shown: ["X\ntouch /tmp/p\n#", "X); id; ("]))
        #expect(line.allSatisfy { $0.asciiValue.map { $0 >= 0x20 } ?? true })
        #expect(!line.contains("touch") && !line.contains("id;"))
    }

    @Test func curlReadsTheBodyFromTheFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-curl-it's-\(UUID())")
        try Data("x".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let plan = try await Rig().agent.plan(for: GeneralRequest("/x").method(.put).body(.file(file)))
        #expect(plan.curl.hasSuffix(" --data-binary '@\(file.path.replacing("'", with: #"'\''"#))'"), "\(plan.curl)")
    }

    /// Linux starts no program with an argument of 128 KiB.
    @Test func aBodyThatIsTooLargeForAnArgumentIsNotInTheLine() throws {
        let url = try #require(URL(string: "http://a.example"))
        let body = OutgoingBody.data(Data(repeating: 0x61, count: 140_000))
        let request = OutgoingRequest(method: .put, url: url, body: body)
        #expect(request.curl(hiding: nil).hasSuffix(" --data-binary (140000 bytes)"))
    }

    /// Otherwise a description would be sent in place of the body.
    @Test func shellRejectsALineWhoseBodyIsNotInIt() async throws {
        let bodies: [(RequestBody, String)] = [
            (.stream { { nil } }, "(a stream)"), (.stream(byteCount: 5) { { nil } }, "(a stream of 5 bytes)"),
            (.multipart { $0.append("text", name: "a") }, "(a form of "), (.data(Data([1, 2, 3])), "(3 bytes)"),
        ]
        for (body, wanted) in bodies {
            let line = try await Rig().agent.plan(for: GeneralRequest("/x").method(.put).body(body)).curl
            #expect(line.contains(" --data-binary \(wanted)"), "\(line)")
            let shell = Process()
            shell.executableURL = URL(filePath: "/bin/sh")
            shell.arguments = ["-n", "-c", line]
            shell.standardError = FileHandle.nullDevice
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus != 0, "\(line)")
        }
    }

    @Test func curlAcceptsTheCommandLine() async throws {
        var config = NetworkConfig.test
        config.authorization = .bearer("secret")
        let rig = Rig(config: config)
        let request = GeneralRequest("/it's").method(.post).query(["q": "a b", "token": "t"]).parameters([
            "password": 1, "n": 2,
        ])
        let plan = try await rig.agent.plan(for: request)
        #expect(
            plan.curl == """
                curl -X 'POST' 'https://api.example/it'\\''s?q=•••&token=•••' -H 'Authorization: •••' \
                -H 'Content-Type: application/json' --data-raw '{"password":"•••","n":"•••"}'
                """
        )
    }

    /// For curl, a field that ends in a colon is one to omit.
    @Test func curlSendsFieldsWithoutAValue() async throws {
        let headers: HTTPHeaders = ["Accept": "", "Api-Key": "", "Range": "bytes=1-"]
        let plan = try await Rig().agent.plan(for: GeneralRequest("/x").headers(headers))
        #expect(plan.curl == "curl 'https://api.example/x' -H 'Accept;' -H 'Api-Key: •••' -H 'Range: bytes=1-'")
    }

    @Test func lineNamesTheRequestAndTheEvent() async throws {
        let log = Record<String>()
        var config = NetworkConfig.test
        config.accessories = [LoggingAccessory(level: .events) { log.add($0) }]
        let rig = Rig(config: config) { _ in .status(404) }
        _ = try? await rig.agent.send(GeneralRequest("/users/7").query(["token": "x", "page": 2]))
        let lines = log.all
        #expect(lines.count == 3)
        let number = lines[0].prefix { $0 != " " }
        #expect(number.first == "#" && Int(number.dropFirst()) != nil)
        let place = "\(number) GeneralRequest GET api.example/users/7?token=•••&page=2"
        #expect(lines[0] == "\(number) GeneralRequest GET: starts")
        #expect(lines[1] == "\(place): failed: the status 404 is not acceptable (the response: status 404, 0 bytes)")
        #expect(lines[2].hasSuffix(": stopped"))
    }
}
