import Errand
import Foundation

// Plain, unannotated types, as an app module has them: this target is isolated to the main actor by default.

struct User: Decodable {
    let id: Int
    let name: String

    init(from decoder: any Decoder) throws {
        MainActor.assertIsolated()
        let container = try decoder.container(keyedBy: Keys.self)
        id = try container.decode(Int.self, forKey: .id)
        name = try container.decode(String.self, forKey: .name)
    }

    private enum Keys: String, CodingKey { case id, name }
}

struct GetUser: Request {
    typealias Model = User
    let id: Int
    var path: String {
        MainActor.assertIsolated()
        return "/users/\(id)"
    }
    func didProduce(_ model: User, from response: RawResponse) throws { MainActor.assertIsolated() }
}

struct SearchUsers: Request, Encodable {
    typealias Model = [User]
    var query: String
    var page: Int?
    var _id: Int? = nil
    var path: String { "/users/search" }
}

struct Order: Codable {
    let id: Int
}

extension Service {
    static let shop = Service(
        id: "shop",
        headers: ["Accept-Language": "en"],
        parameters: ["app": "ios"],
        filter: EnvelopeFilter(code: "code", message: "msg", data: "data", success: [0])
    )
}

struct PlaceOrder: Request, Encodable {
    typealias Model = Order
    var item: String
    var quantity: Int
    var service: Service { .shop }
    var method: HTTPMethod { .post }
    var path: String { "orders" }
}

struct Ping: Request {
    typealias Model = Void
    var path: String { "ping" }
}

struct Terms: Request {
    typealias Model = String
    var path: String { "terms" }
    var filter: PassthroughFilter { .passthrough }
}

struct FirstHit: Request {
    var path: String { "/users/list" }
    var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }
}

final class Screen {
    var name = ""
}

/// Types that a server package shares with the app: free of any actor, and `Sendable`.
nonisolated struct Place: Decodable, Sendable {
    /// The main actor's queue, or another.
    let wasOnMain: Bool

    init(from decoder: any Decoder) throws { wasOnMain = MainQueue.isCurrent }
}

nonisolated struct GetPlace: Request, Sendable {
    typealias Model = Place
    var formattingContext: FormattingContext = .background
    var path: String { "/users/7" }
}

/// Tells the main actor's queue from others, where `assertIsolated` could only end the process.
nonisolated enum MainQueue {
    private static let key = DispatchSpecificKey<Bool>()
    static func mark() { DispatchQueue.main.setSpecific(key: key, value: true) }
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }
}

struct Sum: JSONRPCRequest {
    typealias Model = Total
    let numbers: [Int]
    var path: String { "/rpc" }
    var call: JSONRPCCall<Total> { JSONRPCCall("sum", .array(numbers.map { .number(JSONNumber($0)) })) }
}

final class Total: Decodable {
    let sum: Int
}
