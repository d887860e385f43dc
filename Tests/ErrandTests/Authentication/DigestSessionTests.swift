import Foundation
import Testing

@testable import Errand

/// Responses to challenges of Digest.
///
/// Values that are not in the RFC were computed with Python's hashlib.
@Suite struct DigestSessionTests {
    private static func session(
        _ challenge: String,
        user: String = "Mufasa",
        password: String = "Circle of Life",
        clientNonce: String = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    ) throws -> DigestSession {
        let parsed = AuthenticationChallenge.challenges(in: "Digest " + challenge)
        let chosen = try #require(DigestChallenge.strongest(of: parsed))
        return DigestSession(chosen, user: user, password: password, clientNonce: clientNonce)
    }

    private static func parameters(_ value: String?) -> [String: String] {
        AuthenticationChallenge.challenges(in: value ?? "").first?.parameters ?? [:]
    }

    private static let base = #"realm="http-auth@example.org", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "#

    /// RFC 7616, section 3.9.1.
    @Test(arguments: [
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ])
    func examplesOfRFC7616Hold(algorithm: String, response: String) throws {
        let opaque = #"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
        let session = try Self.session(#"\#(Self.base)qop="auth, auth-int", algorithm=\#(algorithm), \#(opaque)"#)
        let value = session.authorization(method: .get, target: "/dir/index.html", body: Data())
        let expected = #"""
            Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=\#(algorithm), \#
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, \#
            cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, response="\#(response)", \#(opaque)
            """#
        #expect(value == expected)
    }

    @Test(arguments: [
        (#"qop="auth", algorithm=MD5-sess"#, "e783283f46242139c486a698fec7211d", "6914b51e16f9459d9abc967ad41c4599"),
        (#"qop="auth-int""#, "8804a53d3640a40a4f73cea12c5ba451", "d2455c821d8247a32c77203f5802c8a7"),
        (
            "qop=auth, algorithm=sha-256-SESS", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7",
            "6bb0010aa4bdf46422a798c509ea32e256f27bd37de5cc3bdf8ed51e1d77d650"
        ),
        (
            "qop=\"token,auth-int\", algorithm=SHA-256-sess",
            "3c19fbb1d58d0c5baff1a2ef49d847b5d0dfd7e3252b355d978d3af7d895912b",
            "f07ce15b1b4114623546da2df168b4ef895efc5b05edfe3a885253380b11655e"
        ),
        // Without qop, as in RFC 2069.
        ("opaque=x", "7b2cc3b30e75b4777ea31027084363fd", "7b2cc3b30e75b4777ea31027084363fd"),
    ])
    func algorithmsAndQualitiesAreApplied(rest: String, first: String, second: String) throws {
        var session = try Self.session(Self.base + rest)
        for response in [first, second] {
            let value = session.authorization(method: .get, target: "/dir/index.html", body: Data())
            #expect(Self.parameters(value)["response"] == response)
            session.skip()
        }
    }

    @Test func bodyIsHashedForAuthInt() throws {
        let session = try Self.session(Self.base + "qop=auth-int, algorithm=SHA-256")
        let value = session.authorization(method: .post, target: "/dir/index.html", body: Data(#"{"a":1}"#.utf8))
        #expect(
            Self.parameters(value)["response"] == "193d6834c8f5b21e6b707fdd7de62ad0b3514493466cf33958098aa6d3836274"
        )
        #expect(session.authorization(method: .post, target: "/dir/index.html", body: nil) == nil)
    }

    /// RFC 7616, section 3.9.2, with SHA-256 in place of SHA-512/256; the user name is given in a decomposed form.
    @Test func userIsHashedIfTheServerRequiresIt() throws {
        let nonce = "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
        let challenge = #"realm="api@example.org", qop="auth", algorithm=SHA-256, nonce="\#(nonce)", userhash=true"#
        let (user, clientNonce) = ("Ja\u{308}søn Doe", "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm")
        let session = try Self.session(challenge, user: user, password: "Secret, or not?", clientNonce: clientNonce)
        let sent = Self.parameters(session.authorization(method: .get, target: "/doe.json", body: nil))
        #expect(sent["username"] == "5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7")
        #expect(sent["response"] == "06d0c14162099f487a92ebceaf71097534ee5f90d858386449c337ab69f7f6b8")
        #expect(sent["userhash"] == "true")
    }

    @Test func userThatIsNotASCIIIsEncoded() throws {
        let session = try Self.session("realm=a, nonce=b, qop=auth, charset=UTF-8", user: "Jäsøn Doe")
        let value = session.authorization(method: .get, target: "/", body: nil)
        #expect(value?.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm=") == true)
    }

    @Test func quotesAreEscaped() throws {
        let challenge = #"realm="r\\x", nonce="n", qop=auth"#
        let session = try Self.session(challenge, user: "a\"b", password: "p", clientNonce: "c")
        let value = try #require(session.authorization(method: .get, target: "/", body: nil))
        #expect(value.contains(#"username="a\"b", realm="r\\x""#))
        #expect(Self.parameters(value)["response"] == "c12febcae0f904d1057a86a35e4f0864")
    }

    @Test(arguments: [
        ("Digest realm=a, nonce=1, Digest realm=b, nonce=2, algorithm=SHA-256", "b"),
        ("Digest realm=a, nonce=1, algorithm=SHA-512-256, Digest realm=b, nonce=2", "b"),
        ("Basic realm=a, Digest realm=b, nonce=2, Digest realm=c, nonce=3", "b"),
        ("Digest realm=a, nonce=1, qop=auth, algorithm=SHA-256-sess, Digest realm=b, nonce=1, algorithm=SHA-256", "a"),
        ("Digest nonce=1, Digest realm=a, Basic realm=b", nil), ("Digest realm=a, nonce=1, algorithm=SHA-1", nil),
        ("Digest realm=\"a\u{1}\", nonce=1", nil), ("", nil),
    ])
    func strongestChallengeIsChosen(field: String, realm: String?) {
        #expect(DigestChallenge.strongest(of: AuthenticationChallenge.challenges(in: field))?.realm == realm)
    }

    @Test func longNonceIsNotSentBack() {
        let field = "Digest realm=a, nonce=" + String(repeating: "x", count: 4097)
        #expect(DigestChallenge.strongest(of: AuthenticationChallenge.challenges(in: field)) == nil)
        // Without a quality the server does not receive the client's nonce, which the session key depends on.
        let session = AuthenticationChallenge.challenges(in: "Digest realm=a, nonce=b, algorithm=MD5-sess")
        #expect(DigestChallenge.strongest(of: session) == nil)
    }

    @Test func unknownQualityIsNotRespondedTo() throws {
        let session = try Self.session("realm=a, nonce=b, qop=\"token\"")
        #expect(session.authorization(method: .get, target: "/", body: Data()) == nil)
    }

    @Test func newNonceIsCountedFromOne() throws {
        var session = try Self.session("realm=a, nonce=b, qop=auth")
        for _ in 0..<17 { session.skip() }
        func count() -> String? {
            Self.parameters(session.authorization(method: .get, target: "/", body: nil))["nc"]
        }
        #expect(count() == "00000012")
        session.nonce = "c"
        #expect(count() == "00000001")
    }

    /// A client of many devices would need a challenge for each request, and could be downgraded.
    @Test func originsThatAreUsedAreNotForgotten() async throws {
        let digest = DigestAuthentication(user: "ada", password: "p")
        func send(_ host: String, _ algorithm: String = "SHA-256") async throws -> [String?] {
            let sent = Record<String?>()
            let request = OutgoingRequest(url: try #require(URL(string: "https://\(host)/")))
            _ = try await digest.intercept(
                request,
                for: RequestContext(secrets: Secrets()),
                next: AttemptChain { request in
                    let credential = request.headers["Authorization"]
                    sent.add(credential)
                    let challenge = #"Digest realm="r", nonce="\#(algorithm)", qop="auth", algorithm=\#(algorithm)"#
                    return credential?.contains(algorithm) == true
                        ? RawResponse(url: request.url)
                        : RawResponse(statusCode: 401, headers: ["WWW-Authenticate": challenge], url: request.url)
                }
            )
            return sent.all
        }
        #expect(try await send("first").count == 2)
        for number in 0..<1_200 {
            _ = try await send("host-\(number)")
            if number % 100 == 0 { #expect(try await send("first").count == 1) }
        }
        let forgotten = try await send("host-0")
        #expect(forgotten.count == 2, "\(forgotten)")
        let downgraded = try await send("first", "MD5")
        #expect(!downgraded.contains { $0?.contains("MD5") == true })
    }
}
