import ErrandTesting
import Testing

@testable import Errand

@Suite struct AuthorizationTests {
    @Test(arguments: [
        (Authorization.inherited, nil), (.anonymous, nil),
        (.basic(user: "Aladdin", password: "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        (.basic(user: "tëst", password: "123£"), "Basic dMOrc3Q6MTIzwqM="), (.bearer("abc.def"), "Bearer abc.def"),
        (.custom(scheme: "Digest", credentials: "x=1"), "Digest x=1"),
    ])
    func fieldMatchesTheScheme(authorization: Authorization, field: String?) throws {
        #expect(try authorization.fieldValue == field)
    }

    @Test func userOfBasicWithAColonIsAnError() async {
        let authorization = Authorization.basic(user: "ada:b", password: "hunter2")
        #expect("\(authorization)" == "Basic (credentials hidden)")
        #expect(authorization != .basic(user: "ada", password: "b:hunter2"))
        let text = "the user name of Basic contains a colon, which ends it (RFC 7617, section 2); use one without"
        for isOwn in [true, false] {
            let rig = Rig(config: .test { if !isOwn { $0.authorization = authorization } })
            let request = GeneralRequest("/x").authorization(isOwn ? authorization : .inherited)
            await expect(throwing: .unencodable(text)) { _ = try await rig.agent.send(request) }
            #expect(rig.transport.requestCount == 0)
        }
    }

    @Test func passwordOfBasicMayContainAColon() async throws {
        let request = GeneralRequest("/x").authorization(.basic(user: "ada", password: "b:c"))
        #expect(try await Rig().wire(request).headers["Authorization"] == "Basic YWRhOmI6Yw==")
    }

    @Test(arguments: [
        (Authorization.inherited, "inherited"), (.anonymous, "anonymous"),
        (.basic(user: "u", password: "hunter2"), "Basic (credentials hidden)"),
        (.bearer("hunter2"), "Bearer (credentials hidden)"),
    ])
    func descriptionContainsNoSecret(authorization: Authorization, text: String) {
        #expect("\(authorization)" == text)
    }

    @Test func equalCredentialsAreEqual() {
        #expect(Authorization.bearer("a") == .bearer("a"))
        #expect(Authorization.bearer("a") != .bearer("b"))
        #expect(Authorization.anonymous != .inherited)
    }
}
