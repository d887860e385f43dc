import Errand
import ErrandTesting
import Foundation
import Testing

/// Every member that determines the URL and the content of a request, in the spelling of its documentation, as the transport
/// receives it.
@Suite struct RequestMembersTests {
    struct WithPath: Request, Sendable {
        typealias Model = JSONValue
        let id = 7
        var path: String { "/users/\(id)" }
    }

    @Test func pathIsBelowTheBase() async throws {
        #expect(try await Rig().wire(WithPath()).url.absoluteString == "https://api.example/users/7")
    }

    struct WithService: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var service: Service { .shop }
    }

    @Test func serviceDeterminesTheHost() async throws {
        let sent = try await Rig().wire(WithService())
        #expect(sent.url.absoluteString == "https://shop.example/api/x?app=ios")
        #expect(sent.headers["Accept-Language"] == "en")
    }

    struct WithCDN: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var usesCDN: Bool { true }
    }

    @Test func usesCDNSelectsTheOtherHost() async throws {
        let rig = Rig(config: .test { $0.cdnURL = "https://cdn.example" })
        #expect(try await rig.wire(WithCDN()).url.absoluteString == "https://cdn.example/x")
    }

    struct WithMethod: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var method: HTTPMethod { .post }
    }

    @Test func methodIsSent() async throws {
        #expect(try await Rig().wire(WithMethod()).method == .post)
    }

    struct WithQuery: Request, Sendable {
        typealias Model = JSONValue
        let page = 2
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var query: Parameters { ["page": page] }
    }

    @Test func queryIsInTheURLWithAnyMethod() async throws {
        #expect(try await Rig().wire(WithQuery()).url.query() == "page=2")
    }

    struct WithParameters: Request, Sendable {
        typealias Model = JSONValue
        let name = "tea"
        var path: String { "/x" }
        var parameters: Parameters { ["name": name] }
    }

    /// Declared parameters take precedence over own properties.
    struct WithParametersOverOwn: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var name = "tea"
        var other = 1
        var path: String { "/x" }
        var parameters: Parameters { ["name": name] }
    }

    @Test func parametersAreSent() async throws {
        #expect(try await Rig().wire(WithParameters()).url.query() == "name=tea")
        #expect(try await Rig().wire(WithParametersOverOwn()).url.query() == "name=tea")
    }

    struct WithParameterEncoding: Request, Encodable, Sendable {
        typealias Model = JSONValue
        var a = 1
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var parameterEncoding: ParameterEncoding { .form }
    }

    @Test func parameterEncodingDeterminesTheFormat() async throws {
        let sent = try await Rig().wire(WithParameterEncoding())
        #expect(try sent.bodyText() == "a=1")
        #expect(sent.headers["Content-Type"] == "application/x-www-form-urlencoded")
    }

    struct WithBody: Request, Sendable {
        typealias Model = JSONValue
        let order = ["item": "tea"]
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var body: RequestBody { .json(order) }
    }

    @Test func bodyIsSent() async throws {
        #expect(try await Rig().wire(WithBody()).bodyText() == #"{"item":"tea"}"#)
    }

    struct WithHeaders: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var headers: HTTPHeaders { ["Accept-Language": "en"] }
    }

    @Test func headersReplaceTheConfigs() async throws {
        let sent = try await Rig(config: .test { $0.headers = ["accept-language": "de"] }).wire(WithHeaders())
        #expect(sent.headers.values(for: "Accept-Language") == ["en"])
    }

    struct WithAuthorization: Request, Sendable {
        typealias Model = JSONValue
        let token = "abc"
        var path: String { "/x" }
        var authorization: Authorization { .bearer(token) }
    }

    @Test func authorizationIsSent() async throws {
        let sent = try await Rig(config: .test { $0.authorization = .bearer("config") }).wire(WithAuthorization())
        #expect(sent.headers.values(for: "Authorization") == ["Bearer abc"])
    }

    struct WithCredentialPolicy: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "https://other.example/x" }
        var credentialPolicy: CredentialPolicy { .requestOrigin }
    }

    @Test func credentialPolicyDecidesWhichOriginsGetCredentials() async throws {
        let sent = try await Rig(config: .test { $0.authorization = .bearer("config") }).wire(WithCredentialPolicy())
        #expect(sent.headers["Authorization"] == "Bearer config")
    }

    struct WithIdempotencyKey: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var method: HTTPMethod { .post }
        var idempotencyKey: IdempotencyKey { .automatic }
    }
    struct WithOwnIdempotencyKey: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var idempotencyKey: IdempotencyKey { "order-7" }
    }

    @Test func idempotencyKeyIsSentAndNewForEachSend() async throws {
        let rig = Rig()
        let first = try #require(try await rig.wire(WithIdempotencyKey()).headers["Idempotency-Key"])
        let second = try #require(try await rig.wire(WithIdempotencyKey()).headers["Idempotency-Key"])
        #expect(UUID(uuidString: first) != nil)
        #expect(first != second)
        #expect(try await rig.wire(WithOwnIdempotencyKey()).headers["Idempotency-Key"] == "order-7")
    }

    struct WithoutBaseHeaders: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var service: Service { .shop }
        var usesBaseHeaders: Bool { false }
    }

    @Test func usesBaseHeadersOmitsThem() async throws {
        #expect(try await Rig().wire(WithoutBaseHeaders()).headers.isEmpty)
    }

    struct WithoutBaseParameters: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var service: Service { .shop }
        var usesBaseParameters: Bool { false }
    }

    @Test func usesBaseParametersOmitsThem() async throws {
        #expect(try await Rig().wire(WithoutBaseParameters()).url.query() == nil)
    }
}

extension Service {
    static let shop = Service(
        id: "shop",
        baseURL: "https://shop.example/api",
        headers: ["Accept-Language": "en"],
        parameters: ["app": "ios"]
    )
}
