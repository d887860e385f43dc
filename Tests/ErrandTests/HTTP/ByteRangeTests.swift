import Testing

@testable import Errand

/// `Range` and `Content-Range` (RFC 9110, sections 14.1.2 and 14.4).
@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-4", 0..<5), ("bytes=0-", 0..<10), ("bytes=9-", 9..<10), ("bytes=-3", 7..<10),
            ("bytes=-10", 0..<10),
            ("bytes=-11", 0..<10), ("bytes=3-3", 3..<4), ("bytes=3-99", 3..<10), ("BYTES=0-0", 0..<1),
            ("bytes= 0-0 ", 0..<1), ("bytes=0-99999999999999999999", 0..<10), ("bytes=-99999999999999999999", 0..<10),
            ("bytes=0-9223372036854775807", 0..<10), ("bytes=10-", nil), ("bytes=10-20", nil), ("bytes=-0", nil),
            ("bytes=99999999999999999999-", nil),
        ] as [(String, Range<Int>?)]
    )
    func aRangeSelectsBytesOfTen(text: String, positions: Range<Int>?) throws {
        #expect(try #require(ByteRange(text)).positions(in: 10) == positions)
    }

    @Test func anEmptyContentSatisfiesNoRange() throws {
        for text in ["bytes=0-", "bytes=-1"] { #expect(try #require(ByteRange(text)).positions(in: 0) == nil) }
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=4-3", "bytes=0-1,3-4", "items=0-4", "bytes=a-b", "bytes=0-4x",
        "bytes=+1-2",
        "bytes=--1", "0-4", "bytes=٣-٤", "bytes=0-0" + String(repeating: " ", count: 300) + ",2-3",
    ])
    func otherFieldsAreForTheServer(text: String) { #expect(ByteRange(text) == nil) }

    @Test(
        arguments: [
            ("bytes 0-4/10", 0..<5, 10), ("bytes 9-9/10", 9..<10, 10), ("bytes 0-4/*", 0..<5, nil),
            ("Bytes 0-0/1", 0..<1, 1),
        ] as [(String, Range<Int>, Int?)]
    )
    func aContentRangeIsRead(text: String, positions: Range<Int>, length: Int?) throws {
        let range = try #require(ContentRange(text))
        #expect(range.positions == positions && range.completeLength == length)
        #expect(range.description.lowercased() == text.lowercased())
    }

    @Test(arguments: [
        "", "bytes", "bytes */10", "bytes 0-10/10", "bytes 5-4/10", "bytes 0-4/4", "bytes 0-4", "bytes 0-4/",
        "bytes=0-4/10",
        "items 0-4/10", "bytes 0-4/10 ", "bytes -1-4/10", "bytes 0-99999999999999999999/*",
        "bytes 0-9223372036854775807/*", "bytes 0-4/99999999999999999999", "bytes 0-4/10, bytes 5-9/10", "bytes 0-4/-1",
    ])
    func anInvalidContentRangeIsNone(text: String) { #expect(ContentRange(text) == nil) }
}
