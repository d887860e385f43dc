import Testing

@testable import Errand

@Suite struct AuthenticationChallengeTests {
    private typealias Challenge = AuthenticationChallenge

    /// A field, and its challenges as text.
    @Test(arguments: [
        (#"Basic realm="simple""#, ["Basic realm=simple"]),
        // RFC 9110, section 11.6.1.
        (
            #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
            ["Basic realm=simple", #"Newauth realm=apps title=Login to "apps" type=1"#]
        ),
        ("Negotiate", ["Negotiate"]), ("Negotiate, Basic", ["Negotiate", "Basic"]),
        ("Negotiate YII=, Basic realm=x", ["Negotiate (YII=)", "Basic realm=x"]),
        ("Negotiate a+/b~.-_==", ["Negotiate (a+/b~.-_==)"]), ("NTLM abc , ", ["NTLM (abc)"]),
        ("Bearer realm = \"a\" , error = \"x\"", ["Bearer error=x realm=a"]),
        ("Digest a=1,,, ,b=2, Basic", ["Digest a=1 b=2", "Basic"]),
        (", , Basic realm=\"a, b=c\"", ["Basic realm=a, b=c"]),
        ("basic REALM=a, realm=b", ["basic realm=a"]), ("Basic realm=\"\"", ["Basic realm="]),
        (#"Basic realm="\\\a""#, [#"Basic realm=\a"#]),
        // Text that does not follow the grammar.
        ("", []), (" ,\t,", []), ("a=b", []), ("a = b, Basic realm=x", ["Basic realm=x"]), ("\"x\", Basic", ["Basic"]),
        ("Basic realm=\"open", ["Basic"]), ("Basic realm=\"open\\", ["Basic"]), ("Basic;realm=x, Bearer", ["Bearer"]),
        ("Basic realm=x junk, a=1", ["Basic a=1 realm=x"]), ("Basic realm=\"x\"\"y, z\", a=1", ["Basic a=1 realm=x"]),
        ("Basic =x, Bearer", ["Bearer"]), ("Basic a b, Bearer c=1", ["Basic", "a (b)", "Bearer c=1"]),
        ("Basic realm=", ["Basic (realm=)"]), ("Basic realm=é, Bearer", ["Basic realm=", "Bearer"]),
    ])
    func challengesAreParsed(field: String, expected: [String]) {
        let found = Challenge.challenges(in: field).map { challenge in
            let pairs = challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return ([challenge.scheme] + (challenge.token68.map { ["(\($0))"] } ?? pairs)).joined(separator: " ")
        }
        #expect(found == expected)
    }

    @Test func severalLinesAreOneList() {
        var headers: HTTPHeaders = ["www-authenticate": "Digest realm=\"a\", nonce=1"]
        headers.add("WWW-Authenticate", "Basic realm=\"b\"")
        #expect(headers.challenges.map(\.scheme) == ["Digest", "Basic"])
        #expect(headers.challenges.map(\.realm) == ["a", "b"])
        #expect(headers.challenges[0]["NONCE"] == "1" && headers.challenges[0].isScheme("digest"))
        #expect(HTTPHeaders().challenges.isEmpty)
    }

    @Test func descriptionHasNoValues() {
        let challenge = Challenge.challenges(in: "Digest realm=secret, nonce=\"secret\", Negotiate secret")
        var text = ""
        dump(challenge, to: &text)
        #expect("\(challenge)" == "[Digest nonce realm, Negotiate token68]" && !text.contains("secret"))
    }

    @Test func anyTextHasSomeChallenges() {
        var random = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: .min ... .max, using: &random)
        var state = seed
        let pieces = ["Basic", "realm", "=", "\"", "\\", ",", " ", "\t", "a", "é", "==", "~", ";", "\u{0}"]
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text += pieces[Int(state >> 33) % pieces.count]
            }
            let found = Challenge.challenges(in: text)
            #expect(found.allSatisfy { !$0.scheme.isEmpty }, "seed \(seed): \(text.debugDescription)")
        }
    }

    @Test func numberIsBounded() {
        #expect(Challenge.challenges(in: String(repeating: "Basic, ", count: 1_000)).count == Challenge.maximumCount)
        let many = "Digest " + (0..<1_000).map { "a\($0)=1" }.joined(separator: ", ")
        #expect(Challenge.challenges(in: many).first?.parameters.count == Challenge.maximumCount)
    }

    @Test(arguments: ["Basic, ", "Basic a=1, ", "a=\"", "Basic \"\\", "x y ", "Basic aaaa= ", "Basic a, ", ";", "a=1,"])
    func parsingIsLinear(piece: String) {
        expectLinear(2_000) { _ = Challenge.challenges(in: "Digest " + String(repeating: piece, count: $0)) }
    }
}
