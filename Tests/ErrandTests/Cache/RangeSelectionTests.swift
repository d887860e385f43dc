import Foundation
import Testing

@testable import Errand

/// The part of a stored response that a request selects (RFC 9110, sections 13.1.5 and 14.2; RFC 9111, section 3.3).
@Suite struct RangeSelectionTests {
    private static let tag: HTTPHeaders = ["ETag": "\"1\""]

    private func entry(_ status: Int, _ headers: HTTPHeaders, _ body: String = "0123456789") -> CacheEntry {
        let url = URL(string: "https://api.example/x") ?? URL(filePath: "/")
        let response = RawResponse(statusCode: status, headers: headers, body: Data(body.utf8), url: url)
        return CacheEntry(response, requested: Date(timeIntervalSince1970: 1_800_000_000))
    }

    private func part(_ range: String, _ body: String, _ headers: HTTPHeaders = tag) -> CacheEntry {
        entry(206, headers.merging(["Content-Range": "bytes \(range)"]), body)
    }

    @Test(
        arguments: [
            ([:], .whole), (["Range": "bytes=0-4"], .part(0..<5, completeLength: 10)),
            (["Range": "bytes=-4"], .part(6..<10, completeLength: 10)),
            (["Range": "bytes=10-"], .unsatisfiable(completeLength: 10)),
            (["Range": "bytes=0-4", "If-Range": "\"1\""], .part(0..<5, completeLength: 10)),
            (["Range": "bytes=0-4", "If-Range": "\"2\""], .whole),
            (["Range": "bytes=0-4", "If-Range": "W/\"1\""], .whole),
            (["Range": "bytes=0-4", "If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"], .whole),
        ] as [(HTTPHeaders, RangeSelection)]
    )
    func ofACompleteResponse(request: HTTPHeaders, selection: RangeSelection) {
        #expect(RangeSelection(of: entry(200, Self.tag), by: request) == selection)
    }

    @Test(
        arguments: [
            ([:], .incomplete(continuation: ["Range": "bytes=0-1", "If-Range": "\"1\""])),
            (["Range": "bytes=2-4"], .part(2..<5, completeLength: 10)),
            (["Range": "bytes=-2"], .part(8..<10, completeLength: 10)),
            (["Range": "bytes=1-4"], .incomplete(continuation: [:])),
            (["Range": "bytes=11-"], .unsatisfiable(completeLength: 10)),
            (["Range": "bytes=2-4", "If-Range": "\"2\""], .incomplete(continuation: [:])),
        ] as [(HTTPHeaders, RangeSelection)]
    )
    func ofAStoredPart(request: HTTPHeaders, selection: RangeSelection) {
        #expect(RangeSelection(of: part("2-9/10", "23456789"), by: request) == selection)
    }

    @Test func ofAnEncodedOrAnotherResponse() {
        let range: HTTPHeaders = ["Range": "bytes=0-1"]
        let encoded = entry(200, ["Content-Encoding": "gzip"])
        #expect(RangeSelection(of: encoded, by: range) == .incomplete(continuation: [:]))
        #expect(RangeSelection(of: encoded, by: [:]) == .whole)
        #expect(RangeSelection(of: entry(404, [:]), by: range) == .whole)
        #expect(RangeSelection(of: entry(206, [:]), by: range) == .incomplete(continuation: [:]))
    }

    @Test func aPartHasTheFieldsOfTheStoredResponse() throws {
        let stored = entry(200, ["ETag": "\"1\"", "Content-Length": "10", "X": "1"])
        let url = try #require(URL(string: "https://api.example/x"))
        let response = try #require(stored.response(for: url, by: ["Range": "bytes=2-3"]))
        #expect(response.statusCode == 206 && response.body == Data("23".utf8))
        #expect(response.headers["Content-Range"] == "bytes 2-3/10" && response.headers["Content-Length"] == "2")
        #expect(response.headers["X"] == "1" && response.headers["ETag"] == "\"1\"")
    }

    @Test func combinedPartsHaveTheFieldsOfTheNewerResponse() throws {
        let older = part("0-4/10", "01234", ["ETag": "\"1\"", "X": "old", "Y": "kept"])
        let newer = part("5-9/10", "56789", ["ETag": "\"1\"", "X": "new", "Content-Length": "5"])
        let whole = try #require(newer.completed(by: older))
        #expect(whole.statusCode == 200 && whole.text == "0123456789")
        #expect(whole.headers["X"] == "new" && whole.headers["Y"] == "kept")
        #expect(whole.headers["Content-Length"] == "10" && !whole.headers.contains("Content-Range"))
    }

    @Test func partsWithAGapKeepTheirRanges() throws {
        let two = try #require(part("8-9/10", "89").completed(by: part("0-1/10", "01")))
        #expect(two.statusCode == 206 && two.text == "0189")
        #expect(two.headers.values(for: "Content-Range") == ["bytes 0-1/10", "bytes 8-9/10"])
        #expect(part("2-7/10", "234567").completed(by: two)?.text == "0123456789")
    }

    @Test func aPartOfAKnownContentUpdatesIt() throws {
        let whole = entry(200, ["ETag": "\"1\"", "Cache-Control": "max-age=1"])
        let newer = part("0-1/10", "01", ["ETag": "\"1\"", "Cache-Control": "max-age=9"])
        let result = try #require(newer.completed(by: whole))
        #expect(result.statusCode == 200 && result.text == "0123456789")
        #expect(result.headers["Cache-Control"] == "max-age=9")
    }

    @Test(arguments: [["ETag": "\"2\""], ["ETag": "W/\"1\""], [:]] as [HTTPHeaders])
    func aPartOfAnotherContentReplacesTheStoredOne(headers: HTTPHeaders) throws {
        for older in [part("0-4/10", "01234"), entry(200, Self.tag)] {
            let result = try #require(part("5-9/10", "56789", headers).completed(by: older))
            #expect(result.statusCode == 206 && result.text == "56789")
        }
    }

    @Test(
        arguments: [
            (["ETag": "\"1-gzip\""], ["ETag": "\"1\""], false), (["ETag": "W/\"1\""], ["ETag": "W/\"1\""], false),
            ([:], ["ETag": "\"1\""], false),
            (["Last-Modified": date], ["Last-Modified": date, "ETag": "\"1\""], false),
            (["Last-Modified": date], ["Last-Modified": laterDate, "ETag": "\"1\""], true),
        ] as [(HTTPHeaders, HTTPHeaders, Bool)]
    )
    func aPartReplacesAnEncodedResponseOnlyIfThatIsObsolete(whole: HTTPHeaders, part: HTTPHeaders, replaces: Bool) {
        let older = entry(200, whole.merging(["Content-Encoding": "gzip"]))
        #expect(self.part("5-9/10", "56789", part).completed(by: older)?.text == (replaces ? "56789" : nil))
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let laterDate = "Sun, 06 Nov 1994 08:49:38 GMT"

    @Test func aSinglePartMayBeComplete() throws {
        let whole = try #require(part("0-9/10", "0123456789", [:]).completed(by: nil))
        #expect(whole.statusCode == 200 && whole.headers["Content-Length"] == "10")
    }
}
