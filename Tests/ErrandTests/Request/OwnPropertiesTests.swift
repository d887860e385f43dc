import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct OwnPropertiesTests {
    private func query(_ request: some Request & Sendable) async throws -> String? {
        try await Rig().wire(request).url.query()
    }

    struct Search: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var query: String
        var page: Int?
        var _id: Int?
        var tags: [String] = []
        var path: String { "/search" }
    }

    @Test func storedPropertiesAreSentWithoutNilAndWithoutTheLeadingUnderscore() async throws {
        #expect(try await query(Search(query: "a b", page: nil, _id: 7)) == "query=a%20b&id=7")
        #expect(try await query(Search(query: "", page: 2, tags: ["x"])) == "query=&page=2&tags%5B%5D=x")
    }

    struct Twins: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var id: Int?
        var name = "n"
        var _id: Int?
        var path: String { "/x" }
    }

    @Test func twoPropertiesOfOneNameAreAnError() async throws {
        let rig = Rig()
        let text = "the properties 'id' and '_id' are both sent as 'id'; rename one of them"
        await expect(throwing: .unencodable(text)) { _ = try await rig.agent.send(Twins(id: 1, _id: 2)) }
        #expect(rig.transport.requestCount == 0)
        #expect(try await query(Twins(id: 1)) == "id=1&name=n")
        #expect(try await query(Twins(_id: 2)) == "name=n&id=2")
    }

    struct Repeating: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var _id = 1
        var path: String { "/x" }
        enum CodingKeys: CodingKey { case _id }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(_id, forKey: ._id)
            try container.encode(_id + 1, forKey: ._id)
        }
    }

    @Test func lastValueOfAPropertyIsSent() async throws {
        #expect(try await query(Repeating()) == "id=2")
    }

    struct Renamed: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var id = 1
        var _version = 2
        var name = "n"
        var path: String { "/x" }
        enum CodingKeys: String, CodingKey {
            case id = "_id"
            case _version, name
        }
    }

    @Test func aNameThatIsNotThePropertysKeepsItsUnderscore() async throws {
        #expect(try await query(Renamed()) == "_id=1&version=2&name=n")
    }

    struct Inner: Encodable, Sendable {
        var _id = 1
        var path = "inner"
        var tag = "t"
    }
    struct Nesting: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var inner = Inner()
        var path: String { "/x" }
    }

    @Test func onlyTheRequestsOwnPropertiesAreRenamedAndOmitted() async throws {
        #expect(
            try await query(Nesting())
                == "inner%5B_id%5D=1&inner%5Bpath%5D=inner&inner%5Btag%5D=t"
        )
    }

    struct Members: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var path = "/stored"
        var tag = "mark"
        var usesCDN = false
        var usesBaseHeaders = true
        var usesBaseParameters = true
        var allowsCellularAccess = true
        var query: Parameters = ["q": 1]
        var name = "n"
    }

    @Test func storedMembersOfTheProtocolAreNotSent() async throws {
        #expect(try await Rig().wire(Members()).url.absoluteString == "https://api.example/stored?q=1&name=n")
    }

    struct Settings: Request, Encodable, Sendable {
        typealias Model = JSONValue
        let path = "/x"
        var method = HTTPMethod.put
        var headers: HTTPHeaders = ["X-Mark": "m"]
        var limits = Limits(timeout: .seconds(5))
        var cachePolicy = CachePolicy.networkOnly
        var name = "n"
    }

    @Test func storedSettingsApplyAndAreNotSent() async throws {
        let rig = Rig()
        let sent = try await rig.wire(Settings())
        #expect(sent.method == .put && sent.headers["X-Mark"] == "m")
        #expect(try sent.bodyText() == #"{"name":"n"}"#)
        let plan = try await rig.agent.plan(for: Settings())
        #expect(plan["cachePolicy"]?.source == .request && plan["limits.timeout"]?.source == .request)
    }

    struct OtherNames: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var verb = HTTPMethod.put
        var fields: HTTPHeaders?
        let path = "/x"
    }

    @Test func headerFieldsAreNeverParameters() async throws {
        #expect(try await query(OtherNames()) == "verb=PUT")
        let rig = Rig()
        await expect(throwing: .unencodable("a HTTPHeaders cannot be encoded, at fields")) {
            _ = try await rig.agent.send(OtherNames(fields: ["Authorization": "secret"]))
        }
        #expect(rig.transport.requestCount == 0)
    }

    struct Listed: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var path = "/stored"
        var tag = "mark"
        var name = "n"
        enum CodingKeys: String, CodingKey { case path, tag, name }
    }

    @Test func listedMembersOfTheProtocolAreSent() async throws {
        #expect(
            try await Rig().wire(Listed()).url.absoluteString
                == "https://api.example/stored?path=/stored&tag=mark&name=n"
                .replacing("=/stored", with: "=%2Fstored")
        )
    }

    /// Names of members, with other types: properties of their own.
    struct Homonyms: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var tag: Int = 1
        var query: [String] = ["a"]
        var method: String? = "m"
        var priority = 3
    }

    @Test func homonymsOfAnotherTypeAreSent() async throws {
        #expect(try await query(Homonyms()) == "tag=1&query%5B%5D=a&method=m&priority=3")
    }

    class Base: Encodable, @unchecked Sendable {
        var _token = "t"
        var shared: Int?
    }
    final class Derived: Base, Request, @unchecked Sendable {
        typealias Model = JSONValue
        var path = "/class"
        var _id = 5
        private enum Keys: String, CodingKey { case _id }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(_id, forKey: ._id)
        }
    }

    @Test func classesSendTheirInheritedPropertiesToo() async throws {
        #expect(try await Rig().wire(Derived()).url.absoluteString == "https://api.example/class?token=t&id=5")
    }

    struct Plain: Request, Sendable {
        typealias Model = JSONValue
        var secret = "not sent"
        var path: String { "/x" }
    }

    @Test func aRequestThatIsNotEncodableSendsNoProperties() async throws {
        #expect(try await query(Plain()) == nil)
    }

    struct Empty: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var method: HTTPMethod { .post }
    }

    @Test func aRequestWithoutPropertiesSendsNothing() async throws {
        let sent = try await Rig().wire(Empty())
        #expect(try sent.bodyData().isEmpty)
        #expect(sent.headers["Content-Type"] == nil)
    }

    struct Explicit: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var own = 1
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var body: RequestBody { .json(["other": 2]) }
    }
    struct Both: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var own = 1
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var parameters: Parameters { ["said": 3] }
        var body: RequestBody { .json(["other": 2]) }
    }

    @Test func withABodyOfItsOwnOnlyExplicitParametersAreSent() async throws {
        let own = try await Rig().wire(Explicit())
        #expect(own.url.query() == nil)
        #expect(try own.bodyText() == #"{"other":2}"#)
        let both = try await Rig().wire(Both())
        #expect(both.url.query() == "said=3")
        #expect(try both.bodyText() == #"{"other":2}"#)
    }

    struct Dated: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var since = Date(timeIntervalSince1970: 1.5)
        var path: String { "/x" }
        var parameterEncoding: ParameterEncoding { .automatic.dates(.millisecondsSince1970) }
    }

    @Test func datesFollowTheRequestsEncoding() async throws {
        #expect(try await query(Dated()) == "since=1500")
    }

    struct Single: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(1)
        }
    }

    @Test func propertiesThatAreNoObjectAreAnError() async {
        let rig = Rig()
        await expect(throwing: .unencodable("the parameters of Single do not encode to names and values")) {
            _ = try await rig.agent.send(Single())
        }
        #expect(rig.transport.requestCount == 0)
    }
}
