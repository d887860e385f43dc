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
        "secretary", "max_tokens", "totalTokens", "shippingpin", "assertions", "bearers", "SAMLRequest",
        "passwordLength",
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
        ("X-Secret-Key", true), ("X-Access-Key", true), ("X-Private-Key", true), ("X-OTP", true), ("X-Pwd", true),
        ("X-Passwd", true), ("X-Pin", true), ("Pin", true), ("Signature", false), ("X-Signature", false),
        ("X-CSRF", true), ("X-Shipping-Pin", false), ("Signature-Input", false),
        ("Sec-WebSocket-Key", false), ("WWW-Authenticate", false),
        ("Content-Type", false), ("Accept", false), ("X-Request-Id", false), ("Status-Code", false), ("ETag", false),
    ])
    func fieldsAreSecretByTheSameRule(name: String, isSecret: Bool) {
        #expect(Secrets().redacted("x", of: name) == (isSecret ? Secrets.mask : "x"))
    }

    @Test func groupsOfSecretsInJSONAreMaskedAndCountsOfTokensAreNot() {
        let secrets = Secrets()
        let groups: JSONValue = [
            "passwords": ["x", 1], "client_secrets": ["a": 1], "refresh_tokens": ["x"], "credentials": 1,
        ]
        let masked: JSONValue = [
            "passwords": "•••", "client_secrets": "•••", "refresh_tokens": "•••", "credentials": "•••",
        ]
        #expect(secrets.redacted(groups) == masked)
        let tokens: JSONValue = [
            "tokens": ["x", ["id": "x", "n": 1]], "user.tokens": "x", "usage": ["tokens": 5, "max_tokens": 6],
        ]
        let counted: JSONValue = [
            "tokens": ["•••", ["id": "•••", "n": 1]], "user.tokens": "•••", "usage": ["tokens": 5, "max_tokens": 6],
        ]
        #expect(secrets.redacted(tokens) == counted)
        #expect(secrets.redacted(pairs: "tokens=5&secrets=x") == "tokens=5&secrets=x")
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

    private static let nested: [(String, String)] = [
        ("redirect_uri=https://user:pass@host/cb?token=abc", "redirect_uri=https://host/cb?token=•••"),
        ("next=/cb?a=1#access_token=abc", "next=/cb?a=1#access_token=•••"),
        ("next=/cb%3Faccess_token%3Dabc", "next=%2Fcb%3Faccess_token%3D•••"),
        ("next=%2Fcb%3fa%3D1%26access_token%3dabc%26b%3D2", "next=%2Fcb%3Fa%3D1%26access_token%3D•••%26b%3D2"),
        ("next=%2Fcb%23id_token%3Dabc", "next=%2Fcb%23id_token%3D•••"),
        ("u=https%3A%2F%2Fuser%3Ap%26ss%40host%2Fcb", "u=https%3A%2F%2Fhost%2Fcb"),
        ("u=%2F%2Fuser%40host", "u=%2F%2Fhost"), ("u=//user:pa@ss@host", "u=//host"),
        ("u=https:%2F%2Fuser:pass@host/%3Fx", "u=https%3A%2F%2Fhost%2F%3Fx"),
        ("https://user:pass@host/cb", "https://host/cb"), ("%2Fcb%3Ftoken%3Dabc", "%2Fcb%3Ftoken%3D•••"),
        ("https%3A%2F%2Fuser%3Apass%40host%2F=1", "https%3A%2F%2Fhost%2F=1"),
        ("a=b%3Ftok%65n%3Dabc%zz%ff", "a=b%3Ftoken%3D•••"), ("state=access_token%3Dabc", "state=access_token%3D•••"),
        ("state=access_token=abc", "state=access_token=•••"), ("a=/b?c=token=abc", "a=/b?c=token=•••"),
        ("a=%252Fcb%253Ftoken%253Dabc", "a=%252Fcb%253Ftoken%253D•••"),
        ("a=%2F%3Fb%3D%252F%253Ftoken%253Dabc%26c%3D1", "a=%2F%3Fb%3D%252F%253Ftoken%253D•••%26c%3D1"),
        ("a=/cb;b=1;access_token=2;3?4", "a=/cb;b=1;access_token=•••"), ("password=a?b;c", "password=•••"),
        ("redirect_uri=https://h/?token%255B%255D=abc", "redirect_uri=https://h/?token%255B%255D=•••"),
        ("password[new]=abc", "password[new]=•••"), ("token%5Bvalue%5D=abc", "token%5Bvalue%5D=•••"),
        ("token.value=abc", "token.value=•••"), ("a[secret][0]=abc", "a[secret][0]=•••"),
        (
            "variables=%7B%22a%22%3A%5B1%5D%2C%22password%22%3A%22a%26b%22%7D",
            "variables=%7B%22a%22%3A%5B1%5D%2C%22password%22%3A%22•••%22%7D"
        ),
        (#"v={"token":1}"#, #"v={"token":"•••"}"#),
        (#"v={"q":"what? a;b #1","token":1}"#, #"v={"q":"what? a;b #1","token":"•••"}"#),
        ("u=%2F%3Fv%3D%257B%2522token%2522%253A1%257D", "u=%2F%3Fv%3D%257B%2522token%2522%253A%2522•••%2522%257D"),
        // In what is encoded more often than that, anything may be.
        ("a=%25252525252525253Ftoken", "a=•••"), ("https://h/?x%25252525252525253Fb=abc", "•••=•••"),
    ]

    @Test(arguments: nested)
    func secretsOfAURLInAValueAreRedacted(query: String, redacted: String) throws {
        #expect(Secrets().redacted(pairs: query) == redacted)
        #expect(Secrets().redacted(pairs: "x=1&\(query)&y=2") == "x=1&\(redacted)&y=2")
        // Its own fragment is omitted, and Foundation encodes what is no escape.
        guard !query.contains(where: { "#[{".contains($0) }), !query.contains("%zz") else { return }
        let url = try #require(URL(string: "https://api.example/x?\(query)"))
        #expect(Secrets().redacted(url) == "https://api.example/x?\(redacted)")
    }

    @Test(arguments: [
        "a=https://host/cb?x=1", "a=https%3A%2F%2Fhost%2Fcb%3Fx%3D1%26y%3D%2540", "a=user@host", "a=me%40host.example",
        "a=mailto:user@host", "a=https://host/@user", "a=https://host?mail=a@b", "a=1%2B1%3D2", "a=b%zz", "a=%", "a==",
        "a=dGVzdA==", "=", "", "&", "a", "a=%E2%82%AC%3F%C3%A9%3D%F0%9F%98%80", "a=%FF%3F%FE", "q=50%25%20off%3F",
        "a=%2525", "tokens=https://host/?a=1", "v=%7B%22a%22%3A1%7D", "v={\"a\": 1}", "v=%7Bno json", "v=[1,2",
    ])
    func valuesWithoutSecretsAreUnchanged(query: String) {
        #expect(Secrets().redacted(pairs: query) == query)
    }

    @Test(arguments: [
        ("https://user:pass@host/cb?token=abc", "https://host/cb?token=•••"),
        ("/cb?access_token=abc", "/cb?access_token=•••"), ("/cb#id_token=abc", "/cb#id_token=•••"),
        ("0; url=https://host/?sig=abc", "0; url=https://host/?sig=•••"),
        // The end of a secret is not known.
        ("<https://host/?page=2&token=abc>; rel=\"next\"", "<https://host/?page=2&token=•••"),
        ("text/html; charset=utf-8", "text/html; charset=utf-8"), ("a/b=1", "a/b=1"), ("token=abc", "token=•••"),
        ("see https://host/a?b=1, and more", "see https://host/a?b=1, and more"),
        ("me@host.example", "me@host.example"), ("x?token=abc", "x?token=•••"), ("?token=abc", "?token=•••"),
        ("../x?access_token=abc", "../x?access_token=•••"),
        ("myapp:/cb#access_token=abc", "myapp:/cb#access_token=•••"),
        ("myapp:cb?token=abc", "myapp:cb?token=•••"), ("0; url=/x?token=abc", "0; url=/x?token=•••"),
        ("0;url=x?token=abc", "0;url=x?token=•••"), ("</x?token=abc>; rel=next", "</x?token=•••"),
        ("<?token=abc>; rel=next", "<?token=•••"), ("/b;jsessionid=abc", "/b;jsessionid=•••"),
        ("%2Fcb%3Ftoken%3Dabc", "%2Fcb%3Ftoken%3D•••"), (#"https:\\ada:abc@host/"#, #"https:\\host/"#),
        ("https://ada:p&abc@host/", "https://host/"), (#"{"token":"abc"}"#, #"{"token":"•••"}"#),
        (#" [{"a":"b&c=d?;#","token":"abc"}]"#, #"[{"a":"b&c=d?;#","token":"•••"}]"#),
        (#"{"a": "b=c"}"#, #"{"a": "b=c"}"#),
        (#"{"a":"{\"password\":\"abc\"}"}"#, #"{"a":"{\"password\":\"•••\"}"}"#),
        ("grant_type=password&password=abc", "grant_type=password&password=•••"), ("{a=b", "{a=b"),
        ("[x] 1 = 1", "[x] 1 = 1"),
        ("a=1, b=2, token=abc", "a=1, b=2, token=•••"), ("a=b=token=abc", "a=b=token=•••"),
        (#"realm="x", n=1, token="abc""#, #"realm="x", n=1, token=•••"#),
        ("a=1 b=2 access token=abc", "a=1 b=2 access token=•••"),
        ("a=1, b=2, code=3", "a=1, b=2, code=•••"), ("a==token=abc", "a==token=•••"),
        (#""{\"token\":\"abc\"}""#, #""{\"token\":\"•••\"}""#),
        ("W/\"a\", \"b\"", "W/\"a\", \"b\""), (#""a\"b"#, #""a\"b"#),
        (#""\u007b\"token\":1}""#, #""{\"token\":\"•••\"}""#),
        ("rate = 5 %, see [1]", "rate = 5 %, see [1]"), ("dGVzdA==", "dGVzdA=="), ("Token==", "Token=="),
    ])
    func secretsOfAURLInAFieldOrAMemberAreRedacted(text: String, redacted: String) {
        #expect(Secrets().redacted(text, of: "Referer") == redacted)
        #expect(Secrets().redacted(["a": [.string(text)]]) == ["a": [.string(redacted)]])
    }

    /// JSON that strict parsers reject, with a secret.
    private static let notQuiteJSON = [
        #"{"a":1,"token":"abc",}"#, #"{"a":1,"token":"abc"#, "{\"a\":1}\n{\"token\":\"abc\"}", #"{"token":"abc"} x"#,
        #"{"a":"\ud800","token":"abc"}"#, #"{"a":01,"token":"abc"}"#, #"{"a":NaN,"token" : "abc"}"#, "{'token':'abc'}",
        "{token:\"abc\"}", "{\"a\":\"\u{01}\",\"token\":\"abc\"}", #"{"tok\u0065n":"abc",}"#, #"[{"a[token]":"abc"}"#,
        #""{\"token\":\"abc\"}"#, #"{"access token":"abc",}"#, "{x=1, token=abc}", #"{"token[]":"abc",}"#,
        #"{"a[token][0]":"abc",}"#, #"{token[0].b:"abc"}"#, #"{"token"/* a */:"abc"}"#, "{'token' // a\n:'abc'}",
        #"{"a":"{\"tok\\u0065n\":\"abc\"}""#,
        String(repeating: "[", count: 129) + #"{"token":"abc"}"# + String(repeating: "]", count: 129),
        String(repeating: "{\"a\":", count: 600) + #"{"token":"abc"}"# + String(repeating: "}", count: 600),
    ]

    @Test(arguments: notQuiteJSON)
    func textThatBeginsAsJSONAndIsNoneIsMaskedIfItNamesASecret(text: String) {
        let secrets = Secrets()
        #expect(secrets.redacted(text, of: "X-Params") == Secrets.mask)
        #expect(secrets.redacted(["a": .string(text)]) == ["a": .string(Secrets.mask)])
        let escaped = PercentEncoding.escapingComponent(text)
        #expect(secrets.redacted(pairs: "x=1&a=\(escaped)&y=2") == "x=1&a=\(Secrets.mask)&y=2")
        #expect(!secrets.redacted(pairs: "a=\(text)").contains("abc"))
    }

    @Test(arguments: ["\u{FEFF}", " \t", "\u{A0}", "\u{2028}\u{200B}"])
    func whatStandsBeforeJSONHidesNoSecret(beginning: String) {
        let text = beginning + #"{"token":"abc"}"#
        #expect(Secrets().redacted(text, of: "X-Params") == #"{"token":"•••"}"#)
        let escaped = PercentEncoding.escapingComponent(text)
        #expect(Secrets().redacted(pairs: "a=\(escaped)") == "a=%7B%22token%22%3A%22•••%22%7D")
        let plain = beginning + #"{"a":1}"#
        #expect(Secrets().redacted(plain, of: "X-Params") == plain)
    }

    @Test func deeplyNestedJSONIsMaskedAsAWhole() {
        var (text, depth) = (#"{"token":"abc"}"#, 0)
        while depth < 8 {
            let redacted = Secrets().redacted(text, of: "X-Params")
            #expect(!redacted.contains("abc"), "\(depth)")
            #expect(redacted.contains("token") == (depth < 4), "\(depth)")
            (text, depth) = (JSONValue.object(["a": .string(text)]).description, depth + 1)
        }
    }

    @Test(arguments: [
        ("/b;jsessionid=abc", "/b;jsessionid=•••"), ("/b;v=1;sessionid=abc/c;d=1", "/b;v=1;sessionid=•••/c;d=1"),
        ("/token=abc/x", "/token=•••/x"), ("/b%3Btoken%3Dabc", "/b%3Btoken%3D•••"),
        ("/b;v=1,2/c(id=7)", "/b;v=1,2/c(id=7)"),
        ("/token/abc", "/token/abc"), ("/a%20b%25/%E2%82%AC", "/a%20b%25/%E2%82%AC"),
    ])
    func secretParametersOfAPathAreRedacted(path: String, redacted: String) throws {
        for query in ["", "?a=1"] {
            let url = try #require(URL(string: "https://api.example\(path)\(query)"))
            #expect(Secrets().redacted(url) == "https://api.example\(redacted)\(query)")
        }
    }

    @Test func parameterOfAPathIsRedactedInEveryText() async throws {
        let log = Record<String>()
        let accessory = LoggingAccessory(level: .events) { log.add($0) }
        let rig = Rig(config: .test { $0.accessories = [accessory] }) { request in
            guard request.url.path() == "/a" else { return .json("1", status: 404) }
            return .status(302, headers: ["Location": "/b;jsessionid=CANARY"])
        }
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/a")) } as? NetworkError)
        #expect(error.description.contains("api.example/b;jsessionid=…: the status 404"), "\(error)")
        let request = GeneralRequest("/b;license=CANARY")
        let plan = try await rig.agent.plan(for: request)
        for text in ["\(request)", "\(plan)", "\(plan.request)", "\(plan.context)", "\(plan["path"]?.value ?? "")"] {
            log.add(text)
        }
        let base: BaseURL = "https://api.example/v1;key=CANARY"
        for text in ["\(base)", "\(NetworkConfig(baseURL: base))", "\(Service(id: "s", baseURL: base))"] {
            log.add(text)
        }
        let recent = Agent(config: .test, transport: rig.transport)
        _ = await failure { try await recent.send(request) }
        var dumped = ""
        dump(recent, to: &dumped)
        log.add(dumped)
        #expect(rig.transport.requests.contains { $0.url.path() == "/b;jsessionid=CANARY" })
        #expect(log.all.contains { $0.contains("goes on to https://api.example/b;jsessionid=•••") }, "\(log.all)")
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
    }

    @Test func curlCommandMasksJSONInAField() throws {
        let url = try #require(URL(string: "https://api.example/b;token=abc"))
        let request = OutgoingRequest(url: url, headers: ["X-Params": #"{"token":"abc"}"#])
        #expect(request.curl() == #"curl 'https://api.example/b;token=•••' -H 'X-Params: {"token":"•••"}'"#)
    }

    @Test func nestedURLIsRedactedInEveryText() async throws {
        let nested = "https://user:CANARY@host.example/cb?access_token=CANARY"
        let log = Record<String>()
        let accessory = LoggingAccessory(level: .events) { log.add($0) }
        let rig = Rig(config: .test { $0.accessories = [accessory] }) { request in
            guard request.url.path() == "/x" else { return .json("1", status: 500) }
            let target = "/y?next=\(PercentEncoding.escapingComponent(nested))"
            return .status(307, headers: ["Location": target])
        }
        let request = GeneralRequest("/x").method(.post).query(["redirect_uri": nested]).body(.form(["next": nested]))
            .header("Referer", nested)
        let plan = try await rig.agent.plan(for: request)
        log.add("\(plan)")
        log.add(plan.curl)
        log.add("\(try #require(await failure { try await rig.agent.send(request) }))")
        #expect(rig.transport.requests.map { "\($0.url)".contains("CANARY") } == [true, true])
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
        #expect(plan.curl.contains("host.example%2Fcb%3Faccess_token%3D•••"), "\(plan.curl)")
    }

    @Test(arguments: ["%3F", "%25", "%3Fa%3D", "//a@", "?a=", "%2F%2Fa%40", "a;", "//", "@", "%"])
    func nestedURLsAreRedactedInLinearTime(part: String) {
        let secrets = Secrets()
        expectLinear(2_000) { count in
            _ = secrets.redacted(pairs: "a=" + String(repeating: part, count: count))
        }
    }

    @Test(arguments: [
        "[", "?a={", "&a=[\"", "?a=[\"", "/;a=", "%253D", "\\\"", "a=", ", a=", "={", "{a:", "\\u0061", "\\\\",
    ])
    func textsThatMayBeJSONAreRedactedInLinearTime(part: String) {
        let secrets = Secrets()
        expectLinear(200) { count in
            let text = String(repeating: part, count: count)
            _ = secrets.redacted("[\"" + text, of: "X-A")
            _ = secrets.redacted(.array([.string(text), .string("{\"a\":[" + text)]))
            _ = URL(string: "https://api.example/" + text).map(secrets.redacted)
        }
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
