import Errand
import ErrandTesting
import Foundation

// Holding sends back and sharing responses: gates, minimum intervals, duplicates, permits and rates.

extension Steps {
    static let admission = [
        Step("Ten equal sends share one response; another user's send does not", needsServer: true) { tour in
            tour.server.on(.get, "/report", .json(#"{"id": 1, "name": "Ada"}"#).delayed(by: .milliseconds(500)))
            let report = GeneralRequest("/report").expecting(User.self).duplicatePolicy(.share)
            let before = tour.server.requestCount
            let users = try await withThrowingTaskGroup(of: User.self) { group in
                for _ in 0..<10 { group.addTask { try await tour.agent.send(report) } }
                group.addTask { try await tour.agent.send(report.authorization(.bearer("other"))) }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let sent = tour.server.requestCount - before
            try hold(users.count == 11 && sent == 2, "\(users.count) users, \(sent) requests")
            return "11 models, \(sent) requests"
        },
        Step("A newer search cancels the previous one", needsServer: true) { tour in
            let search = GeneralRequest("/report").duplicatePolicy(.cancelPrevious).duplicateKey("search")
            let before = tour.server.requestCount
            let old = Task { try await tour.agent.send(search.query(["q": "t"])) }
            await tour.server.waitForRequests(before + 1)
            _ = try await tour.agent.send(search.query(["q": "te"]))
            guard case .failure(let error) = await old.result else { throw DidNotHold(description: "it had a value") }
            try hold(error is CancellationError, "\(error)")
            return "the older one ended with \(error)"
        },
        Step("A send within the minimum interval fails with the time to wait") { tour in
            let request = GetUser(id: 11)
            let limited = GeneralRequest(request.path).limits(Limits(minimumInterval: .seconds(60)))
            _ = try await tour.agent.send(limited)
            do {
                _ = try await tour.agent.send(limited)
                throw DidNotHold(description: "it was sent")
            } catch let error as NetworkError {
                guard case .tooSoon(let pause) = error.reason else { throw error }
                try hold(pause > .seconds(1) && error.kind == .rejected, "\(error)")
                return "\(error.kind): to be sent in \(pause.formatted(.units(allowed: [.seconds])))"
            }
        },
        Step("A throttle: two at once, 20 per second, higher priorities first") { tour in
            let throttle = Throttle(maximumPerHost: 2, rate: .perSecond(20))
            let agent = tour.agent(NetworkConfig(baseURL: BaseURL(tour.server.baseURL), throttle: throttle))
            let began = ContinuousClock.now
            let queued = try await withThrowingTaskGroup(of: Duration.self) { group in
                for id in 0..<8 {
                    let request = GeneralRequest("/users/\(id)").priority(id == 7 ? .high : .normal)
                    group.addTask { try await agent.response(for: request).metrics.queue }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let time = ContinuousClock.now - began
            try hold(time >= .milliseconds(350), "8 sends took \(time)")
            try hold(queued.filter { $0 > .zero }.count >= 6, "\(queued)")
            return "8 sends took \(time.formatted(.units(allowed: [.milliseconds]))), one every 50 ms"
        },
        Step("A send gate rejects a send before anything is sent, with its own error") { tour in
            let agent = tour.agent(NetworkConfig(baseURL: BaseURL(tour.server.baseURL), sendGates: [MembersOnly()]))
            let before = tour.server.requestCount
            do {
                _ = try await agent.send(GetUser(id: 1))
                throw DidNotHold(description: "it was sent")
            } catch let error as NotLoggedIn {
                try hold(tour.server.requestCount == before, "something was sent")
                _ = try await agent.send(GeneralRequest("/users/1").tag("public"))
                return "\(error); a public request got through"
            }
        },
    ]
}

struct NotLoggedIn: Error {}

struct MembersOnly: SendGate {
    func admit(_ context: RequestContext) async throws {
        guard context.tag == "public" else { throw NotLoggedIn() }
    }
}
