import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60))
struct DigestWireTests {
    private let server: MockServer

    init() throws { server = try MockServer() }

    private static func agent(
        _ server: MockServer,
        user: String = "ada",
        password: String? = nil,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent {
        server.agent {
            $0.interceptors = [DigestAuthentication(user: user, password: password ?? "pass of \(user)")]
            change(&$0)
        }
    }

    @Test(
        arguments: [["MD5"], ["MD5-sess"], ["SHA-256"], ["SHA-256-sess"], ["MD5", "SHA-256"], ["SHA-256", "MD5"]],
        ["auth", "auth-int", "auth-int,auth", nil]
    )
    func credentialIsSentAfterAChallengeAndThenAtOnce(algorithms: [String], qop: String?) async throws {
        // Without a quality, a server of RFC 2069 knows neither counts nor sessions.
        if qop == nil, algorithms.contains(where: { $0.hasSuffix("-sess") }) { return }
        let digest = try DigestServer { ($0.algorithms, $0.qop, $0.isStrict) = (algorithms, qop, qop != nil) }
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server)
        #expect(try await agent.get("/me?a=b c") as String == "ada")
        let post = GeneralRequest("/me").method(.post).body(.json(["a": 1])).expecting(String.self)
        #expect(try await agent.send(post) == "ada")
        #expect(digest.users == [nil, "ada", "ada"])
        let strongest = algorithms.contains { $0.hasPrefix("SHA") } ? "SHA-256" : "MD5"
        #expect(digest.server.requests[1].headers["Authorization"]?.contains("algorithm=\(strongest)") == true)
    }

    @Test(arguments: [true, false])
    func nonceThatIsNoLongerValidIsReplaced(sendsStale: Bool) async throws {
        let digest = try DigestServer { ($0.uses, $0.sendsStale) = (2, sendsStale) }
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server)
        for _ in 0..<6 { #expect(try await agent.get("/me") as String == "ada") }
        // One challenge for each nonce.
        #expect(digest.server.requestCount == 9)
    }

    @Test func nextNonceOfAuthenticationInfoIsUsed() async throws {
        let digest = try DigestServer { ($0.uses, $0.sendsNext) = (1, true) }
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server)
        for _ in 0..<6 { #expect(try await agent.get("/me") as String == "ada") }
        #expect(digest.server.requestCount == 7)
    }

    /// The user gets another response.
    @Test(arguments: [true, false])
    func requestWithoutCredentialsSharesNothingWithTheUsers(isUserFirst: Bool) async throws {
        let challenge = ["WWW-Authenticate": #"Digest realm="r", nonce="abc", qop="auth", algorithm=SHA-256"#]
        server.on(.get, "/private") {
            $0.headers.contains("Authorization") ? .text("private") : .status(401, headers: HTTPHeaders(challenge))
        }
        server.on(.get, "/home") {
            .text($0.headers.contains("Authorization") ? "home" : "public", headers: ["Cache-Control": "max-age=60"])
                .delayed(by: .milliseconds(200))
        }
        let agent = Self.agent(server) { $0.cache = ResponseCache(disk: nil) }
        _ = try await agent.get("/private") as String
        let user = GeneralRequest("/home").expecting(String.self).duplicatePolicy(.share).cachePolicy(.http)
        let anonymous = user.authorization(.anonymous)
        let requests = isUserFirst ? [user, anonymous] : [anonymous, user]
        let pages = isUserFirst ? ["home", "public"] : ["public", "home"]
        async let first = agent.send(requests[0])
        async let second = agent.send(requests[1])
        #expect(try await [first, second] == pages)
        for (request, page) in zip(requests, pages) { #expect(try await agent.send(request) == page) }
    }

    @Test func userWithAColonIsAnError() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let error = await #expect(throws: NetworkError.self) {
            try await Self.agent(digest.server, user: "ada:b").get("/me") as String
        }
        let text = "the user name of Digest contains a colon, which ends it (RFC 7616, section 4); use one without"
        #expect(error?.reason == .unencodable(text) && error?.kind == .invalidRequest)
        #expect(digest.server.requestCount == 0)
    }

    @Test func wrongPasswordIsSentOnce() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server, password: "wrong")
        for number in 1...2 {
            let error = await #expect(throws: NetworkError.self) { try await agent.get("/me") as String }
            #expect(error?.reason == .status(401) && digest.server.requestCount == 2 * number)
            let text = error.map { "\($0)" } ?? ""
            #expect(
                text.contains("401 is not acceptable; Digest responded to the challenge, and was rejected"),
                "\(text)"
            )
        }
        #expect(digest.users == [nil, "ada", nil, "ada"])
    }

    @Test func unknownAlgorithmIsNamedByTheError() async throws {
        let challenge = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-512-256"
        server.on(.get, "/", .status(401, headers: ["WWW-Authenticate": challenge]))
        let error = await #expect(throws: NetworkError.self) { try await Self.agent(server).get("/") as String }
        #expect(
            error.map { "\($0)" }?.contains("; Digest cannot respond to the challenge, whose algorithm is SHA-512-256")
                == true
        )
        #expect(server.requestCount == 1)
    }

    @Test func challengesThatNeverEndAreRespondedToFiveTimes() async throws {
        let digest = try DigestServer { $0.uses = 0 }
        defer { digest.server.stop() }
        await #expect(throws: NetworkError.self) { try await Self.agent(digest.server).get("/me") as String }
        #expect(digest.server.requestCount == 1 + DigestAuthentication.maximumRepeatCount)
    }

    /// The server reports the algorithm and the quality of each request.
    private func weakening(to challenges: [String]) async throws -> [String] {
        func challenge(_ number: Int, _ parameters: [String]) -> MockResponse {
            let values = parameters.map { "Digest realm=\"r\", nonce=\"n\(number)\"\($0)" }
            return .status(401, headers: ["WWW-Authenticate": values.joined(separator: ", ")])
        }
        server.enqueue(challenge(1, [", qop=\"auth\", algorithm=SHA-256"]), .text("ok"))
        server.enqueue((3...20).map { challenge($0, challenges.map { ", stale=true\($0)" }) })
        let agent = Self.agent(server, password: "p")
        #expect(try await agent.get("/") as String == "ok")
        for _ in 0..<2 { await #expect(throws: NetworkError.self) { try await agent.get("/") as String } }
        return server.requests.map { request in
            request.digest.map { "\($0["algorithm"] ?? "MD5") \($0["qop"] ?? "-")" } ?? "none"
        }
    }

    @Test(arguments: [[", qop=\"auth\""], [", qop=\"auth\", algorithm=MD5"], [", algorithm=SHA-256"], [""]])
    func acceptedProtectionIsNotLowered(challenges: [String]) async throws {
        // Neither by the session that was accepted, nor by the one after it.
        #expect(try await weakening(to: challenges) == ["none", "SHA-256 auth", "SHA-256 auth", "none"])
    }

    @Test func strongestOfSeveralChallengesIsStillRespondedTo() async throws {
        let sent = try await weakening(to: [", algorithm=SHA-256", ", qop=\"auth\", algorithm=SHA-256-sess", ""])
        #expect(sent.contains("SHA-256-sess auth") && sent.allSatisfy { $0 == "none" || $0.hasSuffix(" auth") })
    }

    /// A server whose nonce is good for one request, and which has one at a time.
    @Test func sendsAtOnceObtainNoncesThatAreGoodForOneRequest() async throws {
        let nonce = Lock(0)
        server.on(.get, "*") { request in
            let sent = request.digest
            return nonce.withLock { nonce in
                guard sent?["nonce"] == "n\(nonce)" else {
                    let stale = sent == nil ? "" : ", stale=true"
                    let challenge = "Digest realm=\"r\", nonce=\"n\(nonce)\", qop=\"auth\"\(stale)"
                    return .status(401, headers: ["WWW-Authenticate": challenge])
                }
                nonce += 1
                return .text("ok", headers: ["Authentication-Info": "nextnonce=\"n\(nonce)\""])
            }
        }
        let agent = Self.agent(server, password: "p")
        #expect(try await agent.get("/") as String == "ok")
        // Each send is overtaken by the others at most.
        let count = 6
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<count { group.addTask { try await agent.get("/\(number)") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "ok", count: count))
    }

    /// Another client has used the counts of the nonce, which the server gives to all.
    @Test func staleResponseWithTheSameNonceIsRepeatedWithTheNextCount() async throws {
        server.on(.get, "/") { request in
            let sent = request.digest
            if sent?["nc"] == "00000004" { return .text("ok") }
            let stale = sent == nil ? "" : ", stale=true"
            return .status(401, headers: ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\(stale)"])
        }
        #expect(try await Self.agent(server, password: "p").get("/") as String == "ok")
        #expect(server.requestCount == 5)
    }

    @Test func redirectWithinTheOriginHasACredentialOfItsOwn() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let response = try await Self.agent(digest.server)
            .response(for: GeneralRequest("/from").expecting(String.self))
        #expect(response.model == "ada" && response.redirects.count == 1)
        #expect(digest.users == [nil, "ada", "ada"])
    }

    @Test(arguments: [CredentialPolicy.ownOrigins, .requestOrigin, .anyOrigin])
    func redirectToAnotherOriginHasNoCredential(policy: CredentialPolicy) async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        server.on(.get, "/away", .redirect(to: digest.server.baseURL.absoluteString + "/me", status: 302))
        let agent = Self.agent(server) { $0.credentialOrigins = [BaseURL(digest.server.baseURL)] }
        let request = GeneralRequest("/away").credentialPolicy(policy).expecting(String.self)
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.reason == .status(401) && digest.users == [nil])
    }

    @Test func anotherOriginAndAnonymousRequestsHaveNoCredential() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let other = GeneralRequest(digest.server.baseURL.absoluteString + "/me").expecting(String.self)
        await #expect(throws: NetworkError.self) { try await Self.agent(server).send(other) }
        let anonymous = GeneralRequest("/me").authorization(.anonymous).expecting(String.self)
        await #expect(throws: NetworkError.self) { try await Self.agent(digest.server).send(anonymous) }
        let own = GeneralRequest("/me").authorization(.bearer("t")).expecting(String.self)
        await #expect(throws: NetworkError.self) { try await Self.agent(digest.server).send(own) }
        #expect(digest.users == [nil, nil, nil] && digest.server.requestCount == 3)
    }

    @Test func concurrentSendsNeverRepeatACount() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server)
        _ = try await agent.get("/me") as String
        let before = digest.server.requestCount
        let users = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await agent.get("/me") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(users == Array(repeating: "ada", count: 50) && digest.server.requestCount == before + 50)
    }

    @Test func usersShareNoStoredResponse() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let cache = ResponseCache(disk: nil)
        func get(_ user: String) async throws -> Response<String> {
            let agent = Self.agent(digest.server, user: user) {
                ($0.cache, $0.cachePolicy) = (cache, .cacheElseNetwork(maxAge: .seconds(600)))
            }
            return try await agent.response(for: GeneralRequest("/me").expecting(String.self))
        }
        #expect(try await get("alice").model == "alice")
        let second = try await get("alice")
        #expect(second.model == "alice" && second.source.isFromCache)
        #expect(try await get("bob").model == "bob")
        #expect(digest.users == [nil, "alice", nil, "bob"])
    }

    @Test func cookieOfTheChallengeIsSentWithTheCredential() async throws {
        let digest = try DigestServer { $0.setsCookie = true }
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server) { $0.interceptors.insert(CookieJar(), at: 0) }
        #expect(try await agent.get("/me") as String == "ada")
    }

    @Test func contentIsSentAgainAfterTheChallenge() async throws {
        let digest = try DigestServer()
        defer { digest.server.stop() }
        let agent = Self.agent(digest.server) { $0.retryPolicy = RetryPolicy(maximumAttempts: 3) }
        let post = GeneralRequest("/me").method(.post).body(.json(["a": 1])).expecting(String.self)
        #expect(try await agent.send(post) == "ada")
        #expect(digest.server.requests.map(\.text) == [#"{"a":1}"#, #"{"a":1}"#])
    }

    @Test func nothingDescribesThePassword() throws {
        let digest = DigestAuthentication(user: "canary-user", password: "canary-password")
        var text = "\(digest) \(String(reflecting: digest))"
        dump(digest, to: &text)
        dump(NetworkConfig(interceptors: [digest]), to: &text)
        #expect(!text.contains("canary"))
    }

    /// A server may give one nonce to all, and counts its uses (RFC 7616, section 3.4).
    @Test func sendsAtOnceShareTheCountsOfANonce() async throws {
        let used = Lock<Set<String>>([])
        server.on(.get, "*") { request in
            let challenge: HTTPHeaders = ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]
            let isNew = request.digest.map { sent in used.withLock { $0.insert(sent["nc"] ?? "").inserted } } ?? false
            return isNew ? .text("ok") : .status(401, headers: challenge)
        }
        let agent = Self.agent(server, password: "p")
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<32 {
                group.addTask { try await agent.send(GeneralRequest("/\(number)").expecting(String.self)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "ok", count: 32))
    }
}
