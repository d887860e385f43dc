import Errand
import ErrandTesting
import Foundation

// The code blocks of README.md as one program that runs against its own server. A test compares the two.

let server = try MockServer()
server.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ada"}"#))
server.on(.post, "/orders", .json(#"{"code": 40001, "msg": "sold out", "data": null}"#))
let baseURL = server.baseURL

struct User: Decodable {
    let id: Int
    let name: String
}

struct GetUser: Request {
    typealias Model = User
    let id: Int
    var path: String { "/users/\(id)" }
}

let agent = Agent(config: NetworkConfig(baseURL: baseURL))  // or a literal: "https://api.example/v1"
let user = try await agent.send(GetUser(id: 7))
print(user.name)

extension Service {
    static let shop = Service(
        id: "shop",
        headers: ["Accept-Language": "en"],
        filter: EnvelopeFilter(code: "code", message: "msg", data: "data")
    )
}

struct Order: Decodable {
    let id: Int
}

struct PlaceOrder: Request, Encodable {
    typealias Model = Order
    var item: String
    var quantity: Int
    var note: String?
    var service: Service { .shop }
    var method: HTTPMethod { .post }
    var path: String { "orders" }
}

do {
    let order = try await agent.send(PlaceOrder(item: "tea", quantity: 2))
    print("ordered as \(order.id)")
} catch let error as ServiceError {
    print("the shop says \(error.code): \(error.message ?? "nothing")")
} catch let error as NetworkError where error.kind == .unreachable {
    print("try again later: \(error)")
}

// The README states what is sent, so this program fails if something else was sent.
precondition(server.requests.last?.text == #"{"item":"tea","quantity":2}"#)
precondition(server.requests.last?.headers["Accept-Language"] == "en")
server.stop()
