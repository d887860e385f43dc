import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct SecretsTests {
    @Test(arguments: [
        "password", "Password", "PASSWORD", "newPassword", "new_password", "new-password", "oldPwd", "userPassword2",
        "accessToken", "access_token", "ACCESS_TOKEN", "accesstoken", "refreshToken", "RefreshToken", "idToken",
        "X-Auth-Token", "csrfToken", "CSRFToken", "clientSecret", "client-secret", "apiKey", "APIKey", "api-key",
        "googleApiKey", "sessionId", "SessionID", "session_id", "userSessionId", "privateKey", "secretAccessKey",
        "smsOtp", "code", "CODE", "pin", "sig", "auth", "session", "authorizationCode", "a[newPassword]",
        "user.accessToken", "user[session]", "passcode", "_token_", "token1", "tokenV2_token", "subscription-key",
        "password_confirmation", "passwordConfirmation", "client_assertion", "assertion", "jwt", "credential", "bearer",
        "id_token_hint", "SAMLResponse", "csrf", "_csrf", "xsrf",
    ])
    func namesAreSecretInAnySpelling(name: String) {
        #expect(Secrets().isCredential(pair: "\(PercentEncoding.escapingComponent(name))=x"))
    }

    @Test func nameOfAnyNumberOfWordsIsCheckedInLinearTime() {
        let secrets = Secrets()
        expectLinear(5_000) { count in
            let name = String(repeating: "a_", count: count)
            #expect(!secrets.isSecret(queryName: name))
        }
    }

    @Test(arguments: [
        "zipcode", "statusCode", "errorCode", "status_code", "code2", "shipping", "shippingPin", "spin", "signal",
        "author", "oauth", "isAuth", "trainingSession", "sessions", "config", "tokens_used", "passwordHint",
        "secretary", "max_tokens", "totalTokens", "shippingpin", "assertions", "bearers", "SAMLRequest",
        "passwordLength",
        "otpLength", "hotpot", "", "_", "1", "keyboard", "name",
    ])
    func otherNamesAreNoSecrets(name: String) {
        // A digit behind a name does not make it another one.
        #expect(Secrets().isSecret(queryName: name) == (name == "code2"))
    }

    @Test(arguments: [
        ("Authorization", true), ("authorization", true), ("X-Auth-Token", true), ("X-Refresh-Token", true),
        ("PRIVATE-TOKEN", true), ("X-Goog-Api-Key", true), ("Set-Cookie", true), ("x_api_key", true),
        ("X-Auth-Key", true), ("Ocp-Apim-Subscription-Key", true), ("x-functions-key", true), ("Sort-Key", false),
        ("X-Secret-Key", true), ("X-Access-Key", true), ("X-Private-Key", true), ("X-OTP", true), ("X-Pwd", true),
        ("X-Passwd", true), ("X-Pin", true), ("Pin", true), ("Signature", false), ("X-Signature", false),
        ("X-CSRF", true), ("X-Shipping-Pin", false), ("Signature-Input", false),
        ("Sec-WebSocket-Key", false), ("WWW-Authenticate", false),
        ("Content-Type", false), ("Accept", false), ("X-Request-Id", false), ("Status-Code", false), ("ETag", false),
    ])
    func fieldsAreSecretByTheSameRule(name: String, isSecret: Bool) {
        #expect(Secrets().isSecret(header: name) == isSecret)
    }

    @Test func customNamesFollowTheSameRule() {
        let secrets = Secrets(headers: ["X-Device"], queryNames: ["email"])
        #expect(["e_mail", "workEmail", "emails"].map(secrets.isSecret(queryName:)) == [true, true, false])
        #expect(secrets.isSecret(header: "x-device") && !secrets.isSecret(header: "Device"))
        #expect(Secrets(headers: [], queryNames: [""]).isSecret(queryName: ""))
    }

    // MARK: What is shown

    @Test(arguments: [
        ("a=1&page=2", "a=•••&page=2"), ("Page=2&PER_PAGE=5", "Page=2&PER_PAGE=5"), ("token", "•••"),
        ("a=1&token&b=2", "a=•••&•••&b=•••"),
        ("CANARY==", "•••"), ("a=", "•••"), ("limit", "limit"), ("", ""), ("&", "&"), ("a=b=c", "a=•••"),
        ("a%5Bb%5D=1", "a%5Bb%5D=•••"),
        ("page%3D1=2", "page%3D1=•••"), ("u=https%3A%2F%2Fuser%3Apass%40host%2F%3Fpage%3D1", "u=•••"),
        ("taxID=1", "taxID=1"),
    ])
    func onlyValuesOfHarmlessNamesAreShown(query: String, shown: String) throws {
        let secrets = Secrets(shown: ["taxid"])
        #expect(secrets.redacted(pairs: query) == shown)
        #expect(secrets.redacted(Data(query.utf8), mediaType: MediaType("application/x-www-form-urlencoded")) == shown)
        guard !query.isEmpty else { return }
        let url = try #require(URL(string: "https://user:CANARY@api.example:81/CANARY?\(query)#CANARY"))
        #expect(secrets.redacted(url) == "https://api.example:81/•••?\(shown)")
    }

    @Test func scalarsOfJSONAreShownByTheNameOfTheirMember() throws {
        let body =
            #"{"page":2,"limit":[1,{"a":2}],"name":"x","list":[1,true,null,{"total":3,"b":"c"}],"sort":{"by":"x"}}"#
        let shown =
            #"{"page":2,"limit":[1,{"a":"•••"}],"name":"•••","list":["•••","•••","•••",{"total":3,"b":"•••"}],"sort":{"by":"•••"}}"#
        #expect(Secrets().redacted(Data(body.utf8), mediaType: MediaType("application/json")) == shown)
        #expect(Secrets().redacted(JSONValue.string("x")) == .string("•••"))
        #expect(Secrets(shown: ["name"]).redacted(["Name": "x", "other": 1]) == ["Name": "x", "other": "•••"])
        #expect(Secrets().redacted(Data("CANARY".utf8), mediaType: MediaType("text/plain")) == "6 bytes")
        #expect(Secrets().redacted(Data("{CANARY".utf8), mediaType: MediaType("application/json")) == "7 bytes")
    }

    @Test func fieldsAreShownByTheirNames() {
        #expect(Secrets().redacted("text/html", of: "content-type") == "text/html")
        #expect(Secrets().redacted("5", of: "Retry-After") == "5" && Secrets().redacted("5", of: "X-Number") == "•••")
        #expect(Secrets(shown: ["X-Number", "Authorization"]).redacted("5", of: "x-number") == "5")
    }

    @Test func errorsOfOthersAreShownByTheirTypes() {
        struct Leaky: Error, CustomStringConvertible { let description = "CANARY" }
        let system = NSError(domain: "Disk", code: 28, userInfo: [NSLocalizedDescriptionKey: "CANARY"])
        #expect(Leaky().shownDescription == "Leaky")
        #expect(system.shownDescription == "NSError (Disk 28)")
        #expect(POSIXError(.ENOSPC).shownDescription == "POSIXError (NSPOSIXErrorDomain 28)")
        #expect(NetworkError(.refreshFailed, underlying: Leaky()).description.contains(": Leaky; log in"))
    }

    @Test func redirectToAnotherOriginRemovesFieldsNamedLikeSecrets() async throws {
        let rig = Rig { request in
            guard request.url.host() == "api.example" else { return .json("1") }
            return .status(307, headers: ["Location": "https://other.example/x"])
        }
        _ = try await rig.agent.send(GeneralRequest("/x").header("X-Refresh-Token", "t").header("X-Other", "o"))
        let sent = rig.transport.requests
        #expect(sent.map { $0.url.host() } == ["api.example", "other.example"])
        #expect(sent.map { $0.headers["X-Refresh-Token"] } == ["t", nil] && sent.last?.headers["X-Other"] == "o")
    }

    @Test func planNamesNeitherTheUserNorTheVariantOfAResponse() async throws {
        let identity = CacheIdentity(version: 2, variant: "variant-7", user: "user-7", ignoredParameters: ["b", "a"])
        let plan = try await Rig().agent.plan(for: GeneralRequest("/x").cacheIdentity(identity))
        #expect(plan["cacheIdentity"]?.value == "version 2, a variant, a user, without a, b")
        #expect(!"\(plan) \(identity)".contains("-7"))
    }
}
