import Testing

@testable import Errand

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("abc-._~XYZ019", "abc-._~XYZ019"), ("a b", "a%20b"), ("+;&=%", "%2B%3B%26%3D%25"),
        ("/?#[]@!$'()*,:", "%2F%3F%23%5B%5D%40%21%24%27%28%29%2A%2C%3A"), ("%41", "%2541"), ("é", "%C3%A9"),
        ("日本", "%E6%97%A5%E6%9C%AC"), ("e\u{301}", "e%CC%81"), ("\r\n\0\u{7F}", "%0D%0A%00%7F"), ("😀", "%F0%9F%98%80"),
    ])
    func componentsKeepOnlyUnreservedCharacters(text: String, encoded: String) {
        #expect(PercentEncoding.escapingComponent(text) == encoded)
    }

    @Test(arguments: [
        ("/a/b", "/a/b"), ("/a%20b%2Fc", "/a%20b%2Fc"), ("/a%e9", "/a%e9"), ("/100%", "/100%25"), ("/%4", "/%254"),
        ("/%zz%41", "/%25zz%41"), ("/%%41", "/%25%41"), ("/a b", "/a%20b"), ("/a?b", "/a%3Fb"), ("/a#b", "/a%23b"),
        ("/;v=1,2:@!$&'()*+", "/;v=1,2:@!$&'()*+"), ("/[1]", "/%5B1%5D"),
        ("/\\\"<>^`{|}", "/%5C%22%3C%3E%5E%60%7B%7C%7D"),
        ("/é", "/%C3%A9"),
    ])
    func pathsKeepWhatIsValid(text: String, encoded: String) {
        #expect(PercentEncoding.escapingPath(text) == encoded)
    }

    @Test(arguments: [
        ("a=1&b=2", "a=1&b=2"), ("a=b c", "a=b%20c"), ("q=%2B+", "q=%2B+"), ("a[]=1", "a%5B%5D=1"),
        ("u=/x?y:z@", "u=/x?y:z@"),
        ("a=#", "a=%23"), ("%", "%25"),
    ])
    func queriesKeepWhatIsValid(text: String, encoded: String) {
        #expect(PercentEncoding.escapingQuery(text) == encoded)
    }

    @Test func slicesAreEncodedLikeStrings() {
        #expect(PercentEncoding.escapingComponent("xa bx".dropFirst().dropLast()) == "a%20b")
    }

    @Test func tokenCharactersFollowRFC9110() {
        let tokens = (UInt8.min...UInt8.max).filter(\.isTokenCharacter)
        #expect(tokens.count == 26 + 26 + 10 + 15)
        #expect(!tokens.contains { " \"(),/:;<=>?@[\\]{}\r\n".utf8.contains($0) || $0 > 0x7E })
    }
}
