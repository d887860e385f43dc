import Testing

@testable import Errand

@Suite struct SHA256Tests {
    /// FIPS 180-4 and NIST's examples.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func testVectorsOfFIPSHold(text: String, digest: String) {
        #expect(SHA256.hexadecimal(text.utf8) == digest)
    }

    @Test func digestOfAMillionBytesIsCorrect() {
        let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(SHA256.hexadecimal(repeatElement(UInt8(ascii: "a"), count: 1_000_000)) == digest)
    }

    @Test(arguments: [1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129])
    func digestOfPiecesEqualsTheCompleteDigest(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for cut in [0, 1, count / 2, count] {
            var hash = SHA256()
            hash.update(bytes[..<cut])
            hash.update(bytes[cut...])
            #expect(hash.hexadecimal() == SHA256.hexadecimal(bytes))
        }
    }

    /// The constant is in the names of files.
    @Test func aDigestOfTextsIsTheSameInEveryVersion() {
        var digest = FieldDigest()
        digest.add("alice")
        digest.add("")
        #expect(digest.hexadecimal() == "13cd658a9dc98c3f868e7221ed005f917d03bbd7d1d62c6f3b0a290d8471d280")
    }

    @Test(arguments: [["aab"], ["a", "ab"], ["", "aab"], ["aa", "b", ""], ["aa", "", "b"], ["a", "a", "b"]])
    func boundariesOfTextsChangeTheDigest(texts: [String]) {
        var (one, other) = (FieldDigest(), FieldDigest())
        for text in ["aa", "b"] { one.add(text) }
        for text in texts { other.add(text) }
        #expect(one.hexadecimal() != other.hexadecimal())
    }
}
