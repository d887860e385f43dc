import Errand

struct User: Decodable, Sendable {
    let id: Int
    let name: String
}

struct GetUser: Request {
    typealias Model = User
    let id: Int
    var path: String { "/users/\(id)" }
}

let agent = Agent(config: NetworkConfig(baseURL: "http://127.0.0.1:1"))
do {
    print(try await agent.send(GetUser(id: 7)).name)
} catch {
    print(error)
}
