import Errand
import ErrandTesting
import Foundation

extension Steps {
    static let decoding = [
        Step("An envelope opened for one request, and a path into its data") { tour in
            let request = GeneralRequest("/shop/v2/orders").method(.post).parameters(["quantity": 1])
                .filter(EnvelopeFilter(code: "code", message: "msg", data: "data"))
                .expecting(User.self, at: "list[0]")
            let user = try await tour.agent.send(request)
            try hold(user.name == "first", "got \(user)")
            return "data.list[0] → \(user)"
        },
        Step("A business error is a ServiceError with code and message") { tour in
            do {
                _ = try await tour.agent.send(PlaceOrder(item: "tea", quantity: 0, service: .shop(tour.server)))
                throw DidNotHold(description: "it had a value")
            } catch let error as ServiceError {
                try hold(error.code == 40001, "the code was \(error.code)")
                return "\(error)"
            }
        },
        Step("Text is decoded with the charset of the response") { tour in
            let text = try await tour.agent.send(GeneralRequest("/latin").expecting(String.self))
            try hold(text == "café", "got \(text)")
            return "ISO 8859-1 → \(text)"
        },
        Step("Other envelopes: a nested code, codes that are strings, data in a string, additional members") { tour in
            var filter = EnvelopeFilter(code: "status.code", message: "status.text", data: "body|json")
            filter.success = .texts(["ok", "1"])
            filter.others = ["page": "meta.page"]
            let response = try await tour.agent.response(
                for: GeneralRequest("/legacy").filter(filter).expecting([User].self, at: "users()")
            )
            let page = response.payload.envelope?["page"]?.int
            try hold(
                response.model == [User(id: 7, name: "Ada")] && page == 3,
                "got \(response.model), page \(page ?? 0)"
            )
            return
                "\(response.model[0]), page \(page ?? 0), as \(response.payload.data.count) of \(response.body.count) bytes"
        },
        Step("The details of a service's error as a typed model, also with status 422") { tour in
            struct Problem: Decodable { let fields: [String: String] }
            do {
                _ = try await tour.agent.send(
                    GeneralRequest("/problem").filter(EnvelopeFilter(code: "code", message: "msg", data: "data"))
                )
                throw DidNotHold(description: "it had a value")
            } catch let error as ServiceError {
                let problem = try error.decode(Problem.self)
                let trace = try error.decode(String.self, at: "~.trace")
                try hold(error.response.statusCode == 422 && trace == "t-1", "\(error)")
                return "code \(error.code): \(problem.fields), trace \(trace)"
            }
        },
        Step("JSON-RPC: a call, and a batch whose responses arrive in another order") { tour in
            let sum = JSONRPCCall<Int>("sum", [1, 2, 3], id: 1)
            let name = JSONRPCCall<String>("name", id: "n")
            let bad = JSONRPCCall<Int>("nonsense", id: 2)
            let six = try await tour.agent.send(GeneralRequest("/rpc").calling(sum))
            let responses = try await tour.agent.send(GeneralRequest("/rpc").calling(batch: sum, name, bad))
            let (again, text) = (try responses.value(of: sum), try responses.value(of: name))
            guard case .failure(let error as ServiceError) = responses.result(of: bad) else {
                throw DidNotHold(description: "a call that does not exist had a result")
            }
            try hold(
                six == 6 && again == 6 && text == "tour" && error.code == -32601,
                "\(six) \(again) \(text) \(error)"
            )
            return "sum → \(six); batch → \(again), \(text), error \(error.code)"
        },
        Step("JSON paths: ranges, elements from the end, every element, the whole body") { tour in
            let full = try await tour.agent.response(
                for: GeneralRequest("/catalogue").filter(EnvelopeFilter(code: "code", data: "data"))
            )
            let names = try full.decode([String].self, at: "items(1,2).*.name")
            let last = try full.decode(Int.self, at: "items[-1].id")
            let time = try full.decode(Int.self, at: "~.time")
            try hold(names == ["b", "c"] && last == 4 && time == 99, "\(names) \(last) \(time)")
            return "items(1,2).*.name → \(names), items[-1].id → \(last), ~.time → \(time)"
        },
        Step("A body of another shape is rejected, and the error has the JSON path") { tour in
            let shape: JSONShape = ["data": ["items": [["id": .integer, "name": .string(maximumLength: 1)]]]]
            let request = GeneralRequest("/catalogue").acceptance(Acceptance(shape: shape))
            _ = try await tour.agent.send(request)
            let narrow: JSONShape = ["data": ["items": [["id": .integer(in: 1..<4)]]]]
            do {
                _ = try await tour.agent.send(request.acceptance(Acceptance(shape: narrow)))
            } catch let error as NetworkError {
                try hold("\(error)".contains("data.items[3].id"), "\(error)")
                return "\(error)"
            }
            throw DidNotHold(description: "it was accepted")
        },
        Step("Numbers and strings of the wrong JSON type are decoded without loss") { tour in
            var decoder = LosslessJSONDecoder()
            decoder.convertsScalars = true
            decoder.keys = .snakeCase
            struct Loose: Decodable { let userId: Int, isActive: Bool, zip: String }
            let request = GeneralRequest("/careless").formatted(by: JSONFormatter<Loose>(decoder: decoder))
            let loose = try await tour.agent.send(request)
            try hold(loose.userId == 7 && loose.isActive && loose.zip == "04109", "got \(loose)")
            return "\(loose)"
        },
    ]
}
