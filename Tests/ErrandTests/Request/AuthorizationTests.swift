import Testing

@testable import Errand

@Suite struct AuthorizationTests {
    @Test(arguments: [
        (Authorization.inherited, nil), (.anonymous, nil),
        (.basic(user: "Aladdin", password: "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        (.basic(user: "tëst", password: "123£"), "Basic dMOrc3Q6MTIzwqM="), (.bearer("abc.def"), "Bearer abc.def"),
        (.custom(scheme: "Digest", credentials: "x=1"), "Digest x=1"),
    ])
    func fieldMatchesTheScheme(authorization: Authorization, field: String?) {
        #expect(authorization.fieldValue == field)
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
