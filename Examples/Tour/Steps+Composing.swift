import Errand
import ErrandTerminal
import ErrandTesting
import Foundation

extension Steps {
    static let composing = [
        Step("A batch of two request types runs concurrently and returns both models") { tour in
            let (me, hits) = try await tour.agent.send(
                BatchRequest(GetUser(id: 7), SearchUsers(query: "a")).accessory(TerminalProgress("      batch"))
            )
            try hold(me.id == 7 && hits.count == 1, "\(me) \(hits)")
            return "\(me.name) and \(hits.count) hit"
        },
        Step("The first failure ends a batch, unless it is ignored", needsServer: true) { tour in
            let gateway = GeneralRequest("/gateway").retryPolicy(.never)
            let handle = tour.agent.start(BatchRequest(GeneralRequest("/slow"), gateway))
            do {
                _ = try await handle.value
                throw DidNotHold(description: "it had a value")
            } catch let error as NetworkError {
                let failed = handle.compositionProgress?.failed?.index
                try hold(error.statusCode == 502 && failed == 1, "\(error) \(failed ?? -1)")
            }
            let (user, nothing) = try await tour.agent.send(BatchRequest(GetUser(id: 1), gateway.ignoringFailure()))
            try hold(nothing == nil, "\(String(describing: nothing))")
            return "request 1 failed and was named; ignored, the other one is \(user.name)"
        },
        Step("A thousand requests, eight at a time, each with its own result") { tour in
            let results = await tour.agent.results(of: (1...1000).map { GetUser(id: $0) }, maximumConcurrent: 8)
            let ids = results.compactMap { try? $0.get().id }
            try hold(ids == Array(1...1000), "\(ids.count)")
            return "\(ids.count) users in their order"
        },
        Step("A chain creates each request from the previous model") { tour in
            let found = try await tour.agent.send(
                ChainRequest(GetUser(id: 3))
                    .then { user in SearchUsers(query: user.name) }
                    .thenWithHistory { hits, history in
                        GetUser(id: (history.model(of: GetUser.self)?.id ?? 0) + hits.count)
                    }
            )
            try hold(found.id == 4, "\(found)")
            return "user 3, then a search, then user \(found.id)"
        },
        Step("The deadline of a chain ends its running exchange", needsServer: true) { tour in
            let began = ContinuousClock.now
            do {
                _ = try await tour.agent.send(
                    ChainRequest(GetUser(id: 1)).then { _ in GeneralRequest("/slow") }.deadline(.milliseconds(300))
                )
                throw DidNotHold(description: "it had a value")
            } catch let error as NetworkError {
                let time = ContinuousClock.now - began
                try hold(error.kind == .timedOut && time < .seconds(2), "\(error) after \(time)")
                return "\(error)"
            }
        },
        Step("Polling until a condition holds, and pages by number") { tour in
            var polls = 0
            for try await _ in tour.agent.poll(GetUser(id: 1), every: .milliseconds(5), until: { _ in polls == 2 }) {
                polls += 1
            }
            var pages: [String] = []
            for try await page in tour.agent.pages(of: SearchUsers(query: "a"), by: .number(), upTo: .requests(3)) {
                pages.append(page.model[0].name)
            }
            try hold(polls == 3 && pages.last == "page=3 query=a", "\(polls) \(pages)")
            return "\(polls) polls; \(pages.joined(separator: ", "))"
        },
        Step("The raw body, or another formatter for one call") { tour in
            let order = PlaceOrder(item: "tea", quantity: 1, service: .shop(tour.server))
            let body = try await tour.agent.send(order.raw)
            let name = try await tour.agent.send(order, formattedBy: JSONFormatter<String>(at: "list[0].name"))
            try hold(body.starts(with: Data(#"{"code""#.utf8)) && name == "first", "\(body.count) \(name)")
            return "\(body.count) bytes; \(name)"
        },
    ]
}
