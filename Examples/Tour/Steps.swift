import Errand
import ErrandTerminal
import ErrandTesting
import Foundation

enum Steps {
    static let declaring = [
        Step("A request is a value; the model comes back typed") { tour in
            let user = try await tour.agent.send(GetUser(id: 7))
            try hold(user == User(id: 7, name: "Ada"), "got \(user)")
            return "GetUser(id: 7) → \(user)"
        },
        Step("Stored properties are parameters: nil is not sent, _id is sent as id, + and & survive") { tour in
            let hits = try await tour.agent.send(SearchUsers(query: "a+b & ü", page: nil, _id: 3))
            try hold(hits.first?.name == "query=a+b & ü id=3", "the server saw \(hits)")
            return "the server read: \(hits[0].name)"
        },
        Step("A request without its own type") { tour in
            let request = GeneralRequest("/echo").method(.post)
                .parameters(["a": 1, "b": nil, "c": ["d": 2]]).header("X-Trace", "1")
            let echo = try await tour.agent.send(request)
            try hold(echo["body"]?.string == #"{"a":1,"c":{"d":2}}"#, "the body was \(echo["body"] ?? .null)")
            return "sent \(echo["body"]?.string ?? "")"
        },
        Step("Parameters as a form, with other styles") { tour in
            let request = GeneralRequest("/echo").method(.put)
                .parameters(["tags": ["a", "b"], "on": true])
                .parameterEncoding(.form.arrays(.repeated).booleans(.digits))
            let echo = try await tour.agent.send(request)
            try hold(echo["body"]?.string == "tags=a&tags=b&on=1", "the body was \(echo["body"] ?? .null)")
            return "sent \(echo["body"]?.string ?? "")"
        },
        Step("Methods for HTTP verbs") { tour in
            let user: User = try await tour.agent.get("/users/5", parameters: ["verbose": true, "q": nil as String?])
            let target = try await tour.agent.delete(
                "/echo/9",
                parameters: ["force": true],
                as: String.self,
                at: "target"
            )
            let total = try await tour.agent.head("/echo").headers["X-Total"]
            try hold(
                user.id == 5 && target == "/echo/9?force=true" && total == "42",
                "\(user) \(target) \(total ?? "-")"
            )
            return "get → \(user.name), delete → \(target), head → X-Total \(total ?? "")"
        },
    ]

    static let configuring = [
        Step("Several hosts: a service has its base URL, header fields, parameters and envelope", needsServer: true) {
            tour in
            let order = try await tour.agent.send(PlaceOrder(item: "tea", quantity: 2, service: .shop(tour.server)))
            let seen = tour.server.requests.last
            try hold(order.id == 99, "got \(order)")
            try hold(seen?.headers["Accept-Language"] == "en", "no Accept-Language on the wire")
            try hold(seen?.text == #"{"app":"tour","item":"tea","quantity":2}"#, "the body was \(seen?.text ?? "none")")
            return "POST \(seen?.path ?? "") \(seen?.text ?? "") → order \(order.id)"
        },
        Step("A config is a value: replaced while a send runs, it changes only later sends", needsServer: true) {
            tour in
            let agent = tour.agent(NetworkConfig(baseURL: tour.server.baseURL))
            agent.config.headers["X-Version"] = "1"
            let before = tour.server.requestCount
            async let early = agent.send(GeneralRequest("/echo").expecting(String.self, at: #"headers.x-version"#))
            await tour.server.waitForRequests(before + 1)
            agent.config.headers["X-Version"] = "2"
            let late = try await agent.send(GeneralRequest("/echo").expecting(String.self, at: #"headers.x-version"#))
            let first = try await early
            try hold(first == "1" && late == "2", "\(first) then \(late)")
            return "version \(first), then \(late)"
        },
        Step("URL filters and adapters change every request, in order", needsServer: true) { tour in
            let config = NetworkConfig(
                baseURL: BaseURL(tour.server.baseURL),
                urlFilters: [Language()],
                adapters: [Signature()]
            )
            let echo = try await tour.agent(config).send(GeneralRequest("/echo"))
            let (target, signature) = (echo["target"]?.string, echo["headers"]?["x-signature"]?.string)
            try hold(target == "/echo/en" && signature == "GET /echo/en", "\(target ?? "-") \(signature ?? "-")")
            return "\(target ?? ""), signed '\(signature ?? "")'"
        },
        Step("plan(for:) shows what a send would do, and the source of each setting, without sending") { tour in
            let before = tour.server.requestCount
            let plan = try await tour.agent.plan(for: PlaceOrder(item: "tea", quantity: 2, service: .shop(tour.server)))
            try hold(tour.server.requestCount == before, "something was sent")
            try hold(plan["filter"]?.source == .service, "\(plan)")
            return plan.description.split(separator: "\n").prefix(4).joined(separator: "\n      ")
        },
    ]

    static let running = [
        Step("The response with its header section, source and times; decoded again as other types") { tour in
            let full = try await tour.agent.response(for: GetUser(id: 8))
            let name = try full.decode(String.self, at: "name")
            try hold(full.statusCode == 200 && !full.source.isFromCache && name == "Ada", "\(full)")
            return "status \(full.statusCode), \(full.body.count) bytes, in \(full.metrics.total)"
        },
        Step("Callbacks on a queue, with a handle") { tour in
            let user = try await withCheckedThrowingContinuation { continuation in
                tour.agent.start(GetUser(id: 9), on: .global()) { continuation.resume(with: $0) }
            }
            return "called back with \(user)"
        },
        Step("Cancellation ends a send at once, with CancellationError", needsServer: true) { tour in
            let began = ContinuousClock.now
            let before = tour.server.requestCount
            let send = Task { try await tour.agent.send(GeneralRequest("/slow")) }
            await tour.server.waitForRequests(before + 1)
            send.cancel()
            guard case .failure(let error) = await send.result else { throw DidNotHold(description: "it had a value") }
            let time = ContinuousClock.now - began
            try hold(error is CancellationError && time < .seconds(2), "\(error) after \(time)")
            return "\(error) after \(time.formatted(.units(allowed: [.milliseconds])))"
        },
        Step("If a scope is deallocated, its sends end and their completions are not called", needsServer: true) {
            tour in
            let before = tour.server.requestCount
            var scope = RequestScope() as RequestScope?
            let handle = tour.agent.start(GeneralRequest("/slow"), in: scope, on: .global()) { _ in
                print("      this line must never be seen")
            }
            await tour.server.waitForRequests(before + 1)
            scope = nil
            while !handle.isFinished { await Task.yield() }
            return "the handle is finished, nobody was called"
        },
    ]

    static let observing = [
        Step("Accessories are notified of the start and end of every send") { tour in
            let diary = Diary()
            let agent = tour.agent(NetworkConfig(baseURL: BaseURL(tour.server.baseURL), accessories: [diary]))
            _ = try await agent.send(GetUser(id: 1))
            _ = try? await agent.send(GeneralRequest("/gateway"))
            // Three events for each send, and two retries of the 502.
            try hold(diary.lines.count == 8, "\(diary.lines)")
            return diary.lines.joined(separator: ", ")
        },
        Step("The progress of large bodies, in both directions", needsServer: true) { tour in
            let percentages = Percentages()
            var config = NetworkConfig(baseURL: tour.server.baseURL)
            config.accessories = [percentages, TerminalProgress("      mirror")]
            let body = Data(repeating: 7, count: 300_000)
            let mirror = GeneralRequest("/mirror").method(.post).body(.data(body)).expecting(Data.self)
            let response = try await tour.agent(config).send(mirror)
            let seen = percentages.lines
            try hold(response == body && seen.contains("upload 100 %") && seen.last == "download 100 %", "\(seen)")
            return seen.joined(separator: ", ")
        },
    ]

    static let failing = [
        Step("An HTML page with status 502 is a status error that has the body") { tour in
            let error = try await networkError { _ = try await tour.agent.send(GeneralRequest("/gateway")) }
            try hold(error.kind == .unacceptableStatus && error.response?.body.count == 24, "\(error)")
            return "\(error)"
        },
        Step("Retries after the delay in Retry-After; a POST is retried only with an idempotency key") { tour in
            let busy = MockResponse.status(503, headers: ["Retry-After": "0"])
            tour.server.enqueue(busy, .json(#"{"id": 4, "name": "Ada"}"#))
            let response = try await tour.agent.response(for: GetUser(id: 4))
            try hold(response.metrics.attempts.count == 2, "\(response.metrics.attempts)")
            let post = GeneralRequest("/gateway").method(.post)
            tour.server.enqueue(busy)
            let error = try await networkError { _ = try await tour.agent.send(post) }
            tour.server.enqueue(busy, .status(204))
            try await tour.agent.send(post.idempotencyKey(.automatic).expecting(Void.self))
            try hold(error.attempts == 1, "\(error)")
            return "\(response.model.name) after 2 attempts; without a key \(error)"
        },
        Step("A malicious body is rejected before it is decoded") { tour in
            let error = try await networkError { _ = try await tour.agent.send(GeneralRequest("/hostile")) }
            try hold(error.kind == .unacceptableContent, "\(error)")
            return "\(error)"
        },
        Step("A 401 with a challenge is a response and does not hang") { tour in
            let error = try await networkError { _ = try await tour.agent.send(GeneralRequest("/secret")) }
            try hold(error.statusCode == 401, "\(error)")
            return "\(error)"
        },
        Step("A connection that is lost in the body is an error, never a partial value", needsServer: true) { tour in
            let error = try await networkError { _ = try await tour.agent.send(GeneralRequest("/cut")) }
            try hold(error.reason == .closedInBody, "\(error)")
            return "\(error)"
        },
        Step("The error of a refused connection has host and port", needsServer: true) { tour in
            let error = try await networkError { _ = try await tour.agent.send(GeneralRequest("http://127.0.0.1:1/x")) }
            try hold(error.reason == .connectionRefused && "\(error)".contains("127.0.0.1:1"), "\(error)")
            return "\(error)"
        },
        Step("Invalid input fails before anything is sent") { tour in
            let before = tour.server.requestCount
            let request = GeneralRequest("/echo").header("X-A\r\nX-Evil", "1")
            let error = try await networkError { _ = try await tour.agent.send(request) }
            try hold(error.kind == .invalidRequest && tour.server.requestCount == before, "\(error)")
            return "\(error)"
        },
    ]

    /// Returns the network error that a closure throws.
    static func networkError(_ body: () async throws -> Void) async throws -> NetworkError {
        do {
            try await body()
        } catch let error as NetworkError {
            return error
        }
        throw DidNotHold(description: "no error was thrown")
    }
}

struct Language: URLFilter {
    func filter(_ url: URL, for context: RequestContext) throws -> URL { url.appending(path: "en") }
}

struct Signature: RequestAdapter {
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
        request.headers["X-Signature"] = "\(request.method) \(request.url.path)"
    }
}

/// An accessory that records a line for each event.
final class Diary: Accessory {
    private let kept = Lines()
    var lines: [String] { kept.all }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        kept.add("\(context.id) \(String("\(event)".prefix { $0 != "(" }))")
    }
}

/// An accessory that records the progress of transfers.
final class Percentages: Accessory {
    private let kept = Lines()
    var lines: [String] { kept.all }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard case .didProgress(let progress) = event else { return }
        kept.add("\(progress.direction) \(Int(progress.fractionCompleted * 100)) %")
    }
}
