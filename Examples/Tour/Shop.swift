import Errand
import ErrandTesting
import Foundation

// The APIs of the tour, each declared once, and the server that responds to them.

struct User: Codable, Equatable {
    let id: Int
    let name: String
}

struct Order: Decodable {
    let id: Int
}

struct GetUser: Request {
    typealias Model = User
    let id: Int
    var path: String { "/users/\(id)" }
}

struct SearchUsers: Request, Encodable {
    typealias Model = [User]
    var query: String
    var page: Int?
    var _id: Int?
    var path: String { "/users/search" }
}

extension Service {
    static func shop(_ server: MockServer) -> Service {
        Service(
            id: "shop",
            baseURL: server.baseURL.appending(path: "shop/v2"),
            headers: ["Accept-Language": "en"],
            parameters: ["app": "tour"],
            filter: EnvelopeFilter(code: "code", message: "msg", data: "data", success: [0])
        )
    }
}

struct PlaceOrder: Request, Encodable {
    typealias Model = Order
    let item: String
    let quantity: Int
    let service: Service
    var method: HTTPMethod { .post }
    var path: String { "orders" }

    enum CodingKeys: CodingKey {
        case item
        case quantity
    }
}

enum Shop {
    static func serve(on server: MockServer) {
        server.on(.get, "/users/*") { request in
            .json(#"{"id": \#(request.path.split(separator: "/").last ?? "0"), "name": "Ada"}"#)
        }
        server.on(.get, "/users/search") { request in
            let items = request.queryItems.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
            return .json(#"[{"id": 1, "name": "\#(items)"}]"#)
        }
        server.on(.post, "/shop/v2/orders") { request in
            guard let order = try? request.json([String: JSONValue].self), order["quantity"]?.int ?? 0 > 0 else {
                return .json(#"{"code": 40001, "msg": "quantity must be positive", "data": null}"#)
            }
            return .json(#"{"code": 0, "msg": "", "data": {"id": 99, "list": [{"id": 1, "name": "first"}]}}"#)
        }
        for method in [HTTPMethod.get, .post, .put, .patch, .delete] {
            server.on(method, "/echo*") { request in
                let echo: JSONValue = [
                    "method": .string(request.method.rawValue),
                    "target": .string(request.target),
                    "body": .string(request.text),
                    "headers": .object(JSONObject(request.headers.map { ($0.name.lowercased(), .string($0.value)) })),
                ]
                return .data(echo.data, contentType: "application/json")
            }
        }
        server.on(.post, "/mirror") { .data($0.body) }
        serveJSON(on: server)
        server.on(.head, "/echo", .status(200, headers: ["X-Total": "42"]))
        server.on(.get, "/latin", .data(Data([0x63, 0x61, 0x66, 0xE9]), contentType: "text/plain; charset=iso-8859-1"))
        server.on(.get, "/slow", .json("{}").delayed(by: .seconds(20)))
        server.on(.get, "/gateway", .html("<h1>502 Bad Gateway</h1>", status: 502))
        server.on(.get, "/hostile", .json(String(repeating: "[", count: 513)))
        server.on(.get, "/secret", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"tour\""]))
        server.on(.get, "/cut", .json(#"{"id": 7, "name": "a long enough name"}"#).faulted(.closeInBody(after: 10)))
    }

    /// Registers the responses for the chapter on responses.
    private static func serveJSON(on server: MockServer) {
        server.on(
            .get,
            "/legacy",
            .json(
                #"{"status":{"code":"OK","text":""},"meta":{"page":3},"#
                    + #""body":"{\"users\":[{\"id\":7,\"name\":\"Ada\"}]}"}"#
            )
        )
        server.on(
            .get,
            "/problem",
            .json(#"{"code":10,"msg":"bad","data":{"fields":{"name":"too short"}},"trace":"t-1"}"#, status: 422)
        )
        server.on(
            .get,
            "/catalogue",
            .json(
                #"{"code":0,"time":99,"data":{"items":["#
                    + #"{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"},{"id":4,"name":"d"}]}}"#
            )
        )
        server.on(.get, "/careless", .json(#"{"user_id":"7","is_active":1,"zip":"04109"}"#))
        server.on(.post, "/rpc") { request in
            let body = try? JSONValue(parsing: Data(request.text.utf8))
            guard let calls = body?.array else { return .data((body.map(reply) ?? .null).data) }
            return .data(JSONValue.array(calls.reversed().map(reply)).data, contentType: "application/json")
        }
    }

    private static func reply(to call: JSONValue) -> JSONValue {
        var response: JSONObject = ["jsonrpc": "2.0"]
        switch call["method"]?.string {
        case "sum":
            response["result"] = .number(JSONNumber((call["params"]?.array ?? []).compactMap(\.int).reduce(0, +)))
        case "name": response["result"] = "tour"
        default: response["error"] = ["code": -32601, "message": "Method not found"]
        }
        response["id"] = call["id"] ?? .null
        return .object(response)
    }
}
