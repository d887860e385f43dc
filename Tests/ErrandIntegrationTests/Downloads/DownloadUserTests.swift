import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The bytes of an unfinished download are used only for the user, and for the secrets, with which they were requested.
@Suite(.limit(seconds: 60)) struct DownloadUserTests {
    private typealias Get = GeneralRequest<JSONValueFormatter>

    private let host: DownloadServer
    private let get = GeneralRequest("/big.bin")

    init() throws { host = try DownloadServer() }

    private func cut(_ request: some Request, with agent: Agent? = nil) async {
        await host.cut(request, by: agent)
        #expect(host.data("a.part")?.count == 100_000)
    }

    /// Downloads the content that another user gets, which has the same length and the same validator.
    private func finishAsAnother(
        _ request: some Request,
        with agent: Agent? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        host.set { $0.content = DownloadServer.content(300_000, 9) }
        let file = try await (agent ?? host.agent()).download(request, to: host.file("a"))
        #expect(file.resumedByteCount == 0 && host.data("a") == host.content, sourceLocation: sourceLocation)
        #expect(host.names == ["a"], sourceLocation: sourceLocation)
        host.set { $0.content = DownloadServer.content(300_000, 1) }
    }

    private func finishAsTheSame(
        _ request: some Request,
        with agent: Agent? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let file = try await (agent ?? host.agent()).download(request, to: host.file("a"))
        #expect(file.resumedByteCount == 100_000 && host.data("a") == host.content, sourceLocation: sourceLocation)
        #expect(host.names == ["a"], sourceLocation: sourceLocation)
    }

    // MARK: Sessions

    /// Puts the token into the query and the path.
    private struct QueryTokens: Authenticator {
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.url.append(queryItems: [URLQueryItem(name: "key", value: token)])
            request.url.append(path: ";t=\(token)")
        }
        func refresh(_ token: String, with agent: Agent) async throws -> String { token }
        func scope(of token: String) -> String? { "ada" }
    }

    @Test func credentialThatASessionPutsIntoTheURLIsNotWrittenAndMayBeRefreshed() async throws {
        let session = AuthenticationSession(QueryTokens(), credential: "CANARY1")
        let agent = host.agent { $0.authentication = .session(session) }
        await cut(get, with: agent)
        let record = String(decoding: host.data("a.part.json") ?? Data(), as: UTF8.self)
        #expect(!record.isEmpty && !record.contains("big.bin") && !record.contains("CANARY"), "\(record)")
        session.login("CANARY2")
        try await finishAsTheSame(get, with: agent)
    }

    // MARK: Credentials without a scope

    @Test(arguments: [
        ("/big.bin?access_token=alice", "/big.bin?access_token=bob"), ("/big.bin?code=1", "/big.bin?code=2"),
        ("/big.bin?u=%2Fx%3Ftoken%3D1", "/big.bin?u=%2Fx%3Ftoken%3D2"), ("/big.bin", "/big.bin?token=bob"),
        ("/big.bin?sig=alice", "/big.bin?sig=bob"), ("/big.bin?signature=alice", "/big.bin?signature=bob"),
    ])
    func aSecretOfTheQueryBelongsToAUser(one: String, other: String) async throws {
        await cut(GeneralRequest(one))
        try await finishAsTheSame(GeneralRequest(one))
        await cut(GeneralRequest(one))
        try await finishAsAnother(GeneralRequest(other))
    }

    @Test(arguments: ["Authorization", "Cookie", "X-Api-Key", "X-User-ID"])
    func aHeaderFieldIdentifiesTheUser(name: String) async throws {
        await cut(get.header(name, "alice"))
        try await finishAsTheSame(get.header(name, "alice"))
        for other in [get.header(name, "bob"), get] {
            await cut(get.header(name, "alice"))
            try await finishAsAnother(other)
        }
    }

    @Test(arguments: [
        "X-Amz-Date=#&X-Amz-Credential=k&X-Amz-Signature=#", "X-Goog-Date=#&X-Goog-Signature=#",
        "Expires=#&Key-Pair-Id=k&Signature=#", "Policy=#&Key-Pair-Id=k&Signature=#",
        "AWSAccessKeyId=k&Expires=#&Signature=#", "GoogleAccessId=k&Expires=#&Signature=#",
        "sv=1&st=#&se=#&ske=#&skt=#&sig=#",
    ])
    func aURLWithANewSignatureIsContinued(query: String) async throws {
        func request(_ value: String) -> Get { Get("/big.bin?v=1&" + query.replacing("#", with: value)) }
        await cut(request("1"))
        try await finishAsTheSame(request("2"))
    }

    @Test(arguments: [
        "policy=#&signature=s", "expires=#&signature=s", "st=#&sig=s", "se=#&sig=s", "skt=#&sig=s",
        "X-Amz-Date=#&signature=s", "X-Goog-Date=#&sig=s", "Key-Pair-Id=k&Expires=#",
    ])
    func aPairThatBelongsToNoSignatureNamesTheContent(query: String) async throws {
        func request(_ value: String) -> Get { Get("/big.bin?" + query.replacing("#", with: value)) }
        await cut(request("1"))
        try await finishAsAnother(request("2"))
    }

    /// Sets a field, as an adapter and as an interceptor.
    private struct Hook: RequestAdapter, Interceptor {
        let value: String
        var name = "Authorization"
        var scope: String?

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers[name] = value
        }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            request.headers[name] = value
            return try await next(request)
        }

        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    /// The user of the content is unknown.
    @Test(arguments: [true, false]) func withAHookWithoutAScopeADownloadStartsAnew(isAdapter: Bool) async throws {
        let hook = Hook(value: "alice")
        let agent = host.agent { if isAdapter { $0.adapters = [hook] } else { $0.interceptors = [hook] } }
        await host.cut(get, by: agent)
        #expect(host.names.isEmpty)
        await cut(get)
        try await finishAsAnother(get, with: agent)
        #expect(host.ranges == [nil, nil, nil])
    }

    @Test(arguments: [true, false]) func aFieldThatNamesNoUserDoesNotCount(isAdapter: Bool) async throws {
        func agent(_ value: String) -> Agent {
            let hook = Hook(value: value, name: "X-Trace", scope: "")
            return host.agent { if isAdapter { $0.adapters = [hook] } else { $0.interceptors = [hook] } }
        }
        await cut(get, with: agent("1"))
        try await finishAsTheSame(get, with: agent("2"))
    }

    @Test func aNewSignatureOfTheSameAccessKeyIsContinued() async throws {
        func request(_ key: String, _ signature: Int) -> Get {
            let value = "AWS4-HMAC-SHA256 Credential=\(key)/2026/x/s3/aws4_request, Signature=\(signature)"
            return get.header("Authorization", value)
        }
        await cut(request("alice", 1))
        try await finishAsTheSame(request("alice", 2))
        await cut(request("alice", 1))
        try await finishAsAnother(request("bob", 1))
    }

    // MARK: Scopes

    private struct Login: Authenticator {
        var applies = true

        func appliesTo(_ url: URL) -> Bool { applies }
        func apply(_ token: [String], to request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["Authorization"] = token[1]
        }
        func refresh(_ token: [String], with agent: Agent) async throws -> [String] { token }
        func scope(of token: [String]) -> String? { token[0] }
    }

    @Test func theScopeOfASessionIdentifiesTheUser() async throws {
        func agent(_ user: String, _ token: String) -> Agent {
            host.agent { $0.authentication = .session(AuthenticationSession(Login(), credential: [user, token])) }
        }
        await cut(get, with: agent("alice", "1"))
        try await finishAsTheSame(get, with: agent("alice", "2"))
        await cut(get, with: agent("alice", "1"))
        try await finishAsAnother(get, with: agent("bob", "1"))
    }

    private static let pairsOfOneUser: [(Get, Get, Bool)] = [
        (Get("/big.bin").header("X-Tenant-ID", "acme"), Get("/big.bin").header("X-Tenant-ID", "globex"), true),
        (Get("/big.bin").header("X-Api-Key", "acme"), Get("/big.bin").header("X-Api-Key", "globex"), true),
        (Get("/big.bin?token=acme"), Get("/big.bin?token=globex"), true),
        (Get("/big.bin").header("Authorization", "acme"), Get("/big.bin").header("Authorization", "globex"), false),
    ]

    /// A user may send requests for several tenants, and URLs that others have shared.
    @Test(arguments: 0..<pairsOfOneUser.count)
    func oneUserOfASessionMayHaveSeveralContents(index: Int) async throws {
        let (one, other, applies) = Self.pairsOfOneUser[index]
        let agent = host.agent {
            let login = Login(applies: applies)
            $0.authentication = .session(AuthenticationSession(login, credential: ["admin", "1"]))
        }
        await cut(one, with: agent)
        try await finishAsTheSame(one, with: agent)
        await cut(one, with: agent)
        try await finishAsAnother(other, with: agent)
    }

    @Test func theScopeOfAHookIdentifiesTheUser() async throws {
        func agent(_ scope: String, _ token: String) -> Agent {
            host.agent { $0.adapters = [Hook(value: token, scope: scope)] }
        }
        await cut(get, with: agent("alice", "1"))
        try await finishAsTheSame(get, with: agent("alice", "2"))
        await cut(get, with: agent("alice", "1"))
        try await finishAsAnother(get, with: agent("bob", "1"))
    }

    @Test func theUserOfTheCacheIdentityIsADownloadsUser() async throws {
        func request(_ user: String, _ token: String, tenant: String = "acme") -> GetOf {
            let headers: HTTPHeaders = ["Authorization": token, "X-Tenant-ID": tenant]
            return GetOf(path: "/big.bin", headers: headers, user: user)
        }
        await cut(request("alice", "1"))
        try await finishAsTheSame(request("alice", "2"))
        await cut(request("alice", "1"))
        try await finishAsAnother(request("bob", "1"))
        await cut(request("alice", "1"))
        try await finishAsAnother(request("alice", "1", tenant: "globex"))
    }

    private struct GetOf: Request {
        typealias Model = Data
        var path: String
        var headers: HTTPHeaders
        var user: String
        var cacheIdentity: CacheIdentity { CacheIdentity(user: user) }
    }

    // MARK: On disk

    @Test func noSecretAndNoDigestOfOneIsWritten() async throws {
        let pairs = ["access_token=SECRET", "u=%2Fx%3Fcode%3DSECRET"]
        let request = GeneralRequest("/big.bin?" + pairs.joined(separator: "&")).header("Authorization", "SECRET")
        var records: [String] = []
        for _ in 0..<2 {
            await cut(request)
            let record = String(decoding: try #require(host.data("a.part.json")), as: UTF8.self)
            for secret in pairs + ["SECRET", "authorization:SECRET"] {
                #expect(!record.contains(secret) && !record.contains(SHA256.hexadecimal(secret.utf8).prefix(16)))
            }
            records.append(record)
            try await finishAsTheSame(request)
        }
        // Digests of equal secrets differ.
        let users = try records.map {
            try #require((JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["identity"] as? String)
        }
        #expect(users[0] != users[1] && users[0].count == 64)
    }

    @Test(arguments: [2, 3]) func aRecordWithoutAUserIsNotUsed(version: Int) async throws {
        await cut(get)
        try host.changeRecord { record in
            let removed = ["salt", "identity"].compactMap { record.removeValue(forKey: $0) }
            #expect(removed.count == 2)
            record["version"] = version
        }
        try await finishAsAnother(get)
    }

    // MARK: In a folder

    /// Two downloads at once, which end early and are then continued in the other order.
    @Test(arguments: ["token", "code", "session", "header"])
    func downloadsThatDifferInASecretAreTwo(name: String) async throws {
        let host = host
        let contents = ["A": DownloadServer.content(50_000, 3), "B": DownloadServer.content(50_000, 4)]
        let isCut = Lock(true)
        host.server.on(.get, "/dl") { request in
            let user = (request.query ?? request.headers["Authorization"])?.last.map(String.init) ?? ""
            let fields: HTTPHeaders = [
                "ETag": "\"1\"", "Content-Disposition": "attachment; filename=\(user).bin",
            ]
            let content = contents[user] ?? Data()
            guard isCut.withLock({ $0 }) else { return .content(content, for: request, fields) }
            // So that both run at once.
            return .data(content, headers: fields).faulted(.closeInBody(after: 20_000)).delayed(by: .milliseconds(200))
        }
        func request(_ user: String) -> Get {
            name == "header" ? Get("/dl").header("Authorization", user) : Get("/dl?\(name)=\(user)")
        }
        let agent = host.agent()
        async let one = result { try await agent.download(request("A"), to: host.folder) }
        async let other = result { try await agent.download(request("B"), to: host.folder) }
        for error in await [one.error, other.error] { #expect(error?.reason == .closedInBody) }
        #expect(host.names.filter { $0.hasSuffix(".part") }.count == 2)
        isCut.withLock { $0 = false }
        for user in ["B", "A"] {
            let file = try await agent.download(request(user), to: host.folder)
            #expect(file.resumedByteCount == 20_000 && file.url.lastPathComponent == "\(user).bin")
            #expect(host.data("\(user).bin") == contents[user])
        }
        #expect(host.names == ["A.bin", "B.bin"])
    }

    @Test func anEqualDownloadWithASecretIsInProgress() async throws {
        host.set { $0.cuts = [.stalled(20_000)] }
        let (agent, folder) = (host.agent(), host.folder)
        let first = Task { try await agent.download(Get("/dl?token=1"), to: folder) }
        while !host.names.contains(where: { $0.hasSuffix(".part.json") }), !Task.isCancelled { await Task.yield() }
        let second = await result { try await agent.download(Get("/dl?token=1"), to: folder) }
        #expect(second.error?.kind == .rejected, "\(String(describing: second.error))")
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    private struct Outcome: Sendable {
        var error: NetworkError?
    }

    private func result(_ body: () async throws -> DownloadedFile) async -> Outcome {
        do {
            _ = try await body()
            return Outcome()
        } catch {
            return Outcome(error: error as? NetworkError)
        }
    }
}
