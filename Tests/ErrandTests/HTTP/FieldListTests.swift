import Testing

@testable import Errand

/// Splits the fields that URLSession joins with commas.
@Suite struct FieldListTests {
    @Test(arguments: [
        ("a=1; Path=/, b=2", ["a=1; Path=/", "b=2"]),
        (
            "a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT; Secure, b=2; Expires=Thu, 10-Jun-2021 10:18:14 GMT, c=3",
            [
                "a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT; Secure", "b=2; Expires=Thu, 10-Jun-2021 10:18:14 GMT",
                "c=3",
            ]
        ),
        ("a=x,y=z; Path=/", ["a=x,y=z; Path=/"]), ("a=1", ["a=1"]), ("b=2, c=3", ["b=2", "c=3"]),
        ("a=1, nameless; Path=/", ["a=1, nameless; Path=/"]),
        ("__Host-a=1; Secure, d[e]=2", ["__Host-a=1; Secure", "d[e]=2"]),
        ("a=, b=", ["a=", "b="]), ("", [""]), (",", [","]),
    ])
    func joinedCookiesAreSplit(line: String, values: [String]) {
        #expect(FieldList.cookies.values(of: line) == values)
    }

    @Test func linesOfCookiesAreNotSplit() {
        let lines = ["name=Doe, id=7; Path=/; Secure; HttpOnly", "b=2"]
        let headers = HTTPHeaders(lines.map { HTTPHeaders.Field(name: "set-cookie", value: $0) })
        #expect(headers.values(for: "Set-Cookie") == lines)
    }

    @Test(arguments: [
        (#"Basic realm="a, b", Bearer"#, [#"Basic realm="a, b""#, "Bearer"]),
        (
            #"Digest realm="x", qop="auth, auth-int", nonce = "n\",m", Negotiate, NTLM TlRM==, Basic realm=simple"#,
            [
                #"Digest realm="x", qop="auth, auth-int", nonce = "n\",m""#, "Negotiate", "NTLM TlRM==",
                "Basic realm=simple",
            ]
        ),
        (
            #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
            [
                #"Newauth realm="apps", type=1, title="Login to \"apps\"""#, #"Basic realm="simple""#,
            ]
        ),
        ("Basic , Bearer", ["Basic", "Bearer"]), (#"Basic realm="open, Bearer"#, [#"Basic realm="open, Bearer"#]),
        ("Bearer", ["Bearer"]),
    ])
    func challengesAreSplit(line: String, values: [String]) {
        for name in ["WWW-Authenticate", "proxy-authenticate"] {
            #expect(HTTPHeaders([name: line]).values(for: name) == values)
        }
    }

    @Test(arguments: [
        (#"</a,b>; rel="next, x", <https://h/c>; rel=last"#, [#"</a,b>; rel="next, x""#, "<https://h/c>; rel=last"]),
        ("<a>,<b>, <c>", ["<a>", "<b>", "<c>"]), ("<a, <b>", ["<a, <b>"]), ("<a>; title=x, y", ["<a>; title=x, y"]),
    ])
    func linksAreSplit(line: String, values: [String]) {
        #expect(HTTPHeaders(["Link": line]).values(for: "link") == values)
    }

    @Test func otherFieldsStayAsTheyAre() {
        let headers: HTTPHeaders = ["Accept": "a, b=1", "Warning": "199 - \"x\", 112 - \"y\""]
        #expect(headers.values(for: "Accept") == ["a, b=1"])
        #expect(headers.values(for: "Warning").count == 1)
    }

    @Test(
        arguments: [FieldList.cookies, .challenges, .links],
        [", a=1", "a, ", "<a>, ", "\"", "<", ",,", " , "]
    )
    func hostileLinesTakeLinearTime(list: FieldList, piece: String) {
        func time(_ count: Int) -> Duration {
            let line = String(repeating: piece, count: count) + ", x=1"
            return threadTime { #expect(!list.values(of: line).isEmpty) }
        }
        #expect(time(8_000) < time(2_000) * 9 + .microseconds(200))
    }
}
