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
    ])
    func namesAreSecretInAnySpelling(name: String) {
        let secrets = Secrets()
        let escaped = PercentEncoding.escapingComponent(name)
        #expect(secrets.redacted(pairs: "\(escaped)=x&a=1") == "\(escaped)=•••&a=1")
        #expect(secrets.redacted(.object([name: "x", "a": 1])) == .object([name: "•••", "a": 1]))
        #expect(secrets.redacted([[name: ["x", 1]]]) == [[name: "•••"]])
    }

    @Test func nameOfAnyNumberOfWordsIsCheckedInLinearTime() {
        let secrets = Secrets()
        expectLinear(5_000) { count in
            let name = String(repeating: "a_", count: count)
            #expect(secrets.redacted(.object([name: "x"])) == .object([name: "x"]))
        }
    }

    @Test(arguments: [
        "zipcode", "statusCode", "errorCode", "status_code", "code2", "shipping", "shippingPin", "spin", "signal",
        "author", "oauth", "isAuth", "trainingSession", "sessions", "config", "tokens_used", "passwordHint",
        "secretary",
        "otpLength", "hotpot", "", "_", "1", "keyboard", "name",
    ])
    func otherNamesAreNoSecrets(name: String) {
        let secrets = Secrets()
        // A digit behind a name does not make it another one.
        guard name != "code2" else {
            #expect(secrets.redacted(.object([name: "x"])) == .object([name: "•••"]))
            return
        }
        #expect(secrets.redacted(.object([name: "x"])) == .object([name: "x"]))
        #expect(secrets.redacted(pairs: "\(name)=x") == "\(name)=x")
    }

    @Test(arguments: [
        ("Authorization", true), ("authorization", true), ("X-Auth-Token", true), ("X-Refresh-Token", true),
        ("PRIVATE-TOKEN", true), ("X-Goog-Api-Key", true), ("Set-Cookie", true), ("x_api_key", true),
        ("X-Auth-Key", true), ("Ocp-Apim-Subscription-Key", true), ("x-functions-key", true), ("Sort-Key", false),
        ("Content-Type", false), ("Accept", false), ("X-Request-Id", false), ("Status-Code", false), ("ETag", false),
    ])
    func fieldsAreSecretByTheSameRule(name: String, isSecret: Bool) {
        #expect(Secrets().redacted("x", of: name) == (isSecret ? Secrets.mask : "x"))
    }

    @Test func customNamesFollowTheSameRule() {
        let secrets = Secrets(headers: ["X-Device"], queryNames: ["email"], jsonKeys: ["taxId"])
        #expect(secrets.redacted(pairs: "e_mail=x&workEmail=x&emails=x") == "e_mail=•••&workEmail=•••&emails=x")
        #expect(
            secrets.redacted(["tax_id": 1, "ownerTaxID": 2, "taxi": 3]) == [
                "tax_id": "•••", "ownerTaxID": "•••", "taxi": 3,
            ]
        )
        #expect(secrets.redacted("x", of: "x-device") == Secrets.mask)
        #expect(secrets.redacted("x", of: "Device") == "x")
        #expect(Secrets(headers: [], queryNames: [""], jsonKeys: []).redacted(pairs: "a=1&=2") == "a=1&=•••")
    }

    @Test func redirectToAnotherOriginRemovesFieldsNamedLikeSecrets() async throws {
        let sent = Record<OutgoingRequest>()
        let rig = Rig { request in
            sent.add(request)
            guard request.url.host() == "api.example" else { return .json("1") }
            return .status(307, headers: ["Location": "https://other.example/x"])
        }
        _ = try await rig.agent.send(GeneralRequest("/x").header("X-Refresh-Token", "t").header("X-Other", "o"))
        #expect(sent.all.first?.headers["X-Refresh-Token"] == "t")
        #expect(sent.all.last?.url.host() == "other.example")
        #expect(sent.all.last?.headers["X-Refresh-Token"] == nil)
        #expect(sent.all.last?.headers["X-Other"] == "o")
    }

    @Test func planNamesNeitherTheUserNorTheVariantOfAResponse() async throws {
        let identity = CacheIdentity(version: 2, variant: "variant-7", user: "user-7", ignoredParameters: ["b", "a"])
        let plan = try await Rig().agent.plan(for: GeneralRequest("/x").cacheIdentity(identity))
        #expect(plan["cacheIdentity"]?.value == "version 2, a variant, a user, without a, b")
        #expect(!"\(plan) \(identity)".contains("-7"))
    }
}
