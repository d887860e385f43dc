import Foundation
import Testing

@testable import Errand

/// Parts of a content, and when they belong together (RFC 9110, section 15.3.7.3; RFC 9111, section 3.4).
@Suite struct PartialContentTests {
    private static let text = "0123456789"
    private static let strong: HTTPHeaders = ["ETag": "\"1\""]

    private func part(
        _ range: String,
        _ headers: HTTPHeaders = strong,
        body: String? = nil,
        of text: String = text
    ) -> PartialContent? {
        var all = headers
        all.add("Content-Range", "bytes \(range)")
        let positions = ContentRange("bytes \(range)")?.positions ?? 0..<0
        let bytes = Data(text.utf8)
        let own = positions.upperBound <= bytes.count ? bytes[positions] : Data()
        return PartialContent(statusCode: 206, headers: all, body: body.map { Data($0.utf8) } ?? Data(own))
    }

    private func some(
        _ range: String,
        _ headers: HTTPHeaders = strong,
        body: String? = nil,
        of text: String = text
    ) throws
        -> PartialContent
    {
        try #require(part(range, headers, body: body, of: text))
    }

    private func words(_ content: PartialContent?) -> String? {
        content.map { content in
            content.positions.map { positions in
                "\(positions.lowerBound):\(content.data(at: positions).map { String(decoding: $0, as: UTF8.self) } ?? "-")"
            }.joined(separator: " ")
        }
    }

    @Test(
        arguments: [
            (206, "bytes 0-4/10", "01234", [:], true), (206, "bytes 0-4/10", "0123", [:], false),
            (206, "bytes 0-4/10", "012345", [:], false), (206, "bytes 0-4/*", "01234", [:], false),
            (206, "bytes */10", "", [:], false), (206, nil, "01234", [:], false),
            (200, "bytes 0-4/10", "01234", [:], false),
            (206, "bytes 0-4/10", "01234", ["Content-Encoding": "gzip"], false),
            (206, "bytes 0-4/10", "01234", ["Content-Encoding": "identity"], true),
            (206, "bytes 0-4/10", "01234", ["Content-Encoding": "utf-8, none"], true),
            (206, "bytes 0-4/10", "01234", ["Content-Encoding": "utf-8, X-GZIP"], false),
            (206, "bytes 0-4/10", "01234", ["ETag": "W/\"1\""], true),
        ] as [(Int, String?, String, HTTPHeaders, Bool)]
    )
    func onlyAResponseThatIsWhatItStatesHasAPart(
        status: Int,
        range: String?,
        body: String,
        headers: HTTPHeaders,
        isRead: Bool
    ) {
        var headers = headers
        headers["Content-Range"] = range
        #expect((PartialContent(statusCode: status, headers: headers, body: Data(body.utf8)) != nil) == isRead)
    }

    @Test(
        arguments: [
            ("0-4/10", "5-9/10", "0:0123456789"), ("5-9/10", "0-4/10", "0:0123456789"),
            ("0-6/10", "3-9/10", "0:0123456789"),
            ("3-9/10", "0-6/10", "0:0123456789"), ("0-9/10", "3-4/10", "0:0123456789"),
            ("3-4/10", "0-9/10", "0:0123456789"),
            ("0-1/10", "5-6/10", "0:01 5:56"), ("5-6/10", "0-1/10", "0:01 5:56"), ("0-4/10", "0-4/10", "0:01234"),
            ("2-4/10", "4-6/10", "2:23456"), ("0-0/10", "9-9/10", "0:0 9:9"),
        ]
    )
    func partsOfOneContentAreCombined(one: String, other: String, result: String) throws {
        let one = try some(one)
        let combined = try one.combined(with: some(other))
        #expect(words(combined) == result)
        #expect((combined?.completeContent != nil) == (result == "0:0123456789"))
    }

    @Test(
        arguments: [
            (["ETag": "\"1\""], ["ETag": "\"2\""]), (["ETag": "W/\"1\""], ["ETag": "W/\"1\""]),
            (["ETag": "\"1\""], ["ETag": "W/\"1\""]), ([:], [:]), (["ETag": "\"1\""], [:]),
            (["ETag": "1"], ["ETag": "1"]),
            // A date that is not older than the response is weak.
            (
                ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
                ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"]
            ),
            // A weak tag makes the date weak.
            (
                [
                    "ETag": "W/\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                    "Date": "Mon, 07 Nov 1994 08:49:37 GMT",
                ],
                [
                    "ETag": "W/\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                    "Date": "Mon, 07 Nov 1994 08:49:37 GMT",
                ]
            ),
        ] as [(HTTPHeaders, HTTPHeaders)]
    )
    func withoutOneStrongValidatorNothingIsCombined(one: HTTPHeaders, other: HTTPHeaders) throws {
        let one = try some("0-4/10", one)
        #expect(try one.combined(with: some("5-9/10", other)) == nil)
    }

    @Test func aDateOlderThanTheResponseIsStrong() throws {
        let headers: HTTPHeaders = [
            "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:38 GMT",
        ]
        let one = try some("0-4/10", headers)
        #expect(try one.combined(with: some("5-9/10", headers))?.completeContent == Data(Self.text.utf8))
        #expect(one.continuation?["If-Range"] == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func partsThatDisagreeAreNotCombined() throws {
        let one = try some("0-4/10")
        #expect(try one.combined(with: some("3-6/10", body: "3x56")) == nil)
        #expect(try one.combined(with: some("5-9/11", body: "56789")) == nil)
    }

    @Test(
        arguments: [
            (["0-4/10"], "bytes=5-"), (["5-9/10"], "bytes=0-4"), (["0-1/10", "7-9/10"], "bytes=2-6"), (["3-4/10"], nil),
            (["0-1/10", "4-5/10"], nil), (["0-1/10", "4-5/10", "8-9/10"], nil), (["0-9/10"], nil),
        ] as [([String], String?)]
    )
    func oneGapIsRequestedUnderTheValidator(ranges: [String], range: String?) throws {
        var content = try some(ranges[0])
        for other in ranges.dropFirst() { content = try #require(try content.combined(with: some(other))) }
        #expect(content.continuation?["Range"] == range)
        #expect(content.continuation?["If-Range"] == (range == nil ? nil : "\"1\""))
        #expect(try some("0-4/10", ["ETag": "W/\"1\""]).continuation == nil)
    }

    @Test func theNumberAndTheSizeOfPartsAreBounded() throws {
        let text = String(repeating: "x", count: 1000)
        var content = try some("0-0/1000", of: text)
        for place in 1..<PartialContent.maximumCount {
            content = try #require(
                content.combined(with: some("\(place * 2)-\(place * 2)/1000", of: text))
            )
        }
        #expect(try content.combined(with: some("900-900/1000", of: text)) == nil)
        #expect(try content.combined(with: some("1-1/1000", of: text)) != nil)
    }

    /// Random parts of two contents: the result is the one content or nothing, and is read again as it was.
    @Test func randomPartsNeverMixContents() throws {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            let length = Int.random(in: 1...24, using: &random)
            let contents = (0..<2).map { _ in
                String((0..<length).map { _ in "ab".randomElement(using: &random) ?? "a" })
            }
            var content: PartialContent?
            var tag = 0
            for _ in 0..<8 {
                let which = Int.random(in: 0...1, using: &random)
                let first = Int.random(in: 0..<length, using: &random)
                let last = Int.random(in: first..<length, using: &random)
                let part = part("\(first)-\(last)/\(length)", ["ETag": "\"\(which)\""], of: contents[which])
                let new = try #require(part)
                if let combined = content?.combined(with: new) {
                    content = combined
                } else {
                    (content, tag) = (new, which)
                }
                guard let content else { continue }
                let bytes = Data(contents[tag].utf8)
                #expect(content.positions.allSatisfy { content.data(at: $0) == Data(bytes[$0]) })
                var headers: HTTPHeaders = ["ETag": "\"\(tag)\""]
                for value in content.fieldValues { headers.add("Content-Range", value) }
                let again = PartialContent(statusCode: 206, headers: headers, body: content.body)
                #expect(again == content)
            }
        }
    }
}
