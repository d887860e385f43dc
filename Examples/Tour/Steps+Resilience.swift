import Errand
import ErrandTesting
import Foundation

/// An authenticator for a token that is refreshed when the server rejects it.
private struct Tokens: Authenticator {
    func appliesTo(_ url: URL) -> Bool { url.host() == "127.0.0.1" }

    func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
        request.headers["Authorization"] = "Bearer \(token)"
    }

    func refresh(_ token: String, with agent: Agent) async throws -> String {
        try await agent.post("/token", parameters: ["refresh_token": "r"], at: "access")
    }

    func scope(of token: String) -> String? { "ada" }
}

extension Steps {
    static let resilience = [
        Step("A redirect to another origin is followed without credentials, and each hop is reported") { tour in
            let other = try MockServer()
            defer { other.stop() }
            other.on(.get, "/new", .json(#"{"id": 9, "name": "Grace"}"#))
            tour.server.on(.get, "/old", .redirect(to: other.baseURL.appending(path: "new").absoluteString))
            let request = GeneralRequest("/old").authorization(.bearer("secret")).expecting(User.self)
            let response = try await tour.agent.response(for: request)
            let seen = other.requests.first?.headers["Authorization"]
            try hold(response.model.id == 9 && seen == nil, "the other host saw \(seen ?? "nothing")")
            return response.redirects.map(\.description).joined(separator: ", ")
        },
        Step("A hundred sends with an expired token: one refresh, a hundred responses", needsServer: true) { tour in
            tour.server.on(.post, "/token", .json(#"{"access": "new"}"#))
            tour.server.on(.get, "/private") { request in
                request.headers["Authorization"] == "Bearer new" ? .json("1") : .status(401)
            }
            let session = AuthenticationSession(Tokens(), credential: "old")
            let config = NetworkConfig(baseURL: BaseURL(tour.server.baseURL), authentication: .session(session))
            let agent = tour.agent(config)
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 { group.addTask { try await agent.get("/private") } }
                return try await group.reduce(0, +)
            }
            let refreshes = tour.server.requests.filter { $0.path == "/token" }.count
            try hold(sum == 100 && refreshes == 1, "\(sum) responses, \(refreshes) refreshes")
            return "\(sum) responses, \(refreshes) refresh"
        },
        Step("A deadline ends a slow send with a timeout error", needsServer: true) { tour in
            tour.server.on(.get, "/slow", .json("1").delayed(by: .seconds(5)))
            let request = GeneralRequest("/slow").limits(Limits(deadline: .milliseconds(120)))
            let began = ContinuousClock.now
            let error = try await networkError { _ = try await tour.agent.send(request) }
            let took = ContinuousClock.now - began
            try hold(error.kind == .timedOut && took < .milliseconds(370), "\(error) after \(took)")
            return "\(error)"
        },
        Step("A log without secrets, and a request as a curl command") { tour in
            let lines = Lines()
            let config = NetworkConfig(
                baseURL: BaseURL(tour.server.baseURL),
                authorization: .bearer("secret-token"),
                accessories: [LoggingAccessory(level: .outcomes) { lines.add($0) }]
            )
            let agent = tour.agent(config)
            let request = GeneralRequest("/users/1").query(["access_token": "secret-token", "page": 2])
            _ = try await agent.send(request)
            let curl = try await agent.plan(for: request).curl
            try hold(lines.all.count == 1 && !"\(lines.all) \(curl)".contains("secret-token"), "\(lines.all) \(curl)")
            return "\(lines.all[0])\n      \(curl)"
        },
    ]
}
