import Errand
import Foundation
import Testing

@testable import Errand

/// The decision about a response to a download, by RFC 9110, sections 14.2 to 15.3.7.
@Suite struct DownloadStepTests {
    private static let place = URL(filePath: "/a")
    private static let content = DownloadRecord.Content(at: place, for: "alice")

    private static func record(_ validator: String? = "\"1\"", length: Int64? = 1_000) -> DownloadRecord {
        var record = DownloadRecord(of: content, at: place, headers: [:], statusCode: 200, fileName: nil)
        (record.validator, record.length, record.boot) = (validator, length, "b")
        return record
    }

    private func step(
        _ status: Int,
        _ headers: HTTPHeaders,
        after offset: Int64? = 400,
        at location: URL = place,
        of record: DownloadRecord? = record()
    ) -> DownloadStep {
        DownloadStep(
            statusCode: status,
            headers: headers,
            isAtPlace: record?.isOf(location) ?? false,
            after: offset,
            of: record
        )
    }

    private let part: HTTPHeaders = ["Content-Range": "bytes 400-999/1000", "ETag": "\"1\""]

    @Test func aPartWithTheSameValidatorContinues() {
        #expect(step(206, part) == .append)
        #expect(step(206, part.merging(["Content-Range": "bytes 400-499/1000"])) == .append)
        #expect(step(206, part, of: Self.record(length: nil)) == .append)
        let date = "Sun, 22 Nov 2026 10:00:00 GMT"
        let dated: HTTPHeaders = ["Content-Range": "bytes 400-999/1000", "Last-Modified": date]
        #expect(step(206, dated, of: Self.record(date)) == .append)
    }

    @Test func aPartOfAnythingElseIsDiscarded() {
        let others: [HTTPHeaders] = [
            part.merging(["ETag": "\"2\""]), part.merging(["ETag": "W/\"1\""]),
            part.merging(["Content-Range": "bytes 399-999/1000"]),
            part.merging(["Content-Range": "bytes 401-999/1000"]),
            part.merging(["Content-Range": "bytes 400-999/1001"]),
            part.merging(["Content-Range": "items 400-999/1000"]),
            part.merging(["Content-Range": "bytes 400-999999999999999999999/1000"]),
            part.merging(["Content-Range": ""]),
            part.merging(["Content-Encoding": "gzip"]), ["Content-Range": "bytes 400-999/1000"], ["ETag": "\"1\""],
        ]
        for headers in others { #expect(step(206, headers) == .discard, "\(headers)") }
        #expect(step(206, part, at: URL(filePath: "/other")) == .discard)
    }

    @Test func aPartThatWasNotRequestedIsRejected() {
        #expect(step(206, part, after: nil) == .reject(.unexpectedRange("bytes 400-999/1000")))
        #expect(step(206, [:], of: Self.record(nil)) == .reject(.unexpectedRange("none")))
    }

    private let whole: HTTPHeaders = ["Content-Length": "1000", "ETag": "\"1\""]

    @Test func aCompleteContentReplaces() {
        let others: [HTTPHeaders] = [
            whole, ["Content-Length": "1000"], whole.merging(["Content-Range": "bytes 0-999/1000"]),
            whole.merging(["Content-Range": "items 0-24/319"]), whole.merging(["Content-Encoding": "utf-8"]),
            ["Content-Length": "600", "ETag": "\"2\""], ["ETag": "\"2\""],
        ]
        for headers in others {
            for status in [200, 203] { #expect(step(status, headers) == .replace, "\(headers)") }
        }
        for status in [200, 201, 203] { #expect(step(status, [:], after: nil, of: nil) == .replace) }
        for range in ["bytes 0-999/1000", "items 0-24/319", "bytes */1000"] {
            #expect(step(200, ["Content-Range": range], after: nil, of: nil) == .replace)
        }
    }

    /// One strong validator has one length (RFC 9110, section 8.8.1).
    @Test func whatContradictsTheEarlierBytesIsRequestedAgain() {
        let parts = ["bytes 400-999/1000", "bytes 400-999/*", "bytes=400-999/1000", "bytes 0-399/1000"]
        for status in [200, 203] {
            for range in parts {
                #expect(step(status, whole.merging(["Content-Range": range])) == .discard, "\(range)")
                #expect(step(status, ["ETag": "\"2\"", "Content-Range": range]) == .discard, "\(range)")
                #expect(step(status, ["Content-Range": range], after: nil, of: nil) == .reject(.unexpectedRange(range)))
            }
            let others: [HTTPHeaders] = [
                whole.merging(["Content-Length": "600"]), whole.merging(["Content-Length": "1600"]),
                ["ETag": "\"1\""],
                ["Content-Length": "600"], ["Content-Length": "600", "ETag": "W/\"2\""], [:],
                whole.merging(["Content-Encoding": "gzip"]),
            ]
            for headers in others { #expect(step(status, headers) == .discard, "\(headers)") }
            #expect(step(status, whole, of: Self.record(length: nil)) == .discard)
        }
    }

    /// It would replace what is there by nothing, or by what is not the content.
    @Test func aResponseWithoutContentIsRejected() {
        for status in [202, 204, 205, 304] {
            #expect(step(status, [:], after: nil, of: nil) == .reject(.status(status)))
            #expect(step(status, part) == .reject(.status(status)))
        }
        for status in [201, 207, 300, 404] { #expect(step(status, part) == .reject(.status(status))) }
    }

    @Test func aStatus416ConfirmsACompletePart() {
        let headers: HTTPHeaders = ["Content-Range": "bytes */1000"]
        #expect(step(416, headers, after: 1_000) == .complete)
        #expect(step(416, headers.merging(["ETag": "\"1\""]), after: 1_000) == .complete)
        #expect(step(416, headers, after: 1_000, of: Self.record(length: nil)) == .complete)
        #expect(step(416, headers, after: 400) == .discard)
        #expect(step(416, headers.merging(["ETag": "\"2\""]), after: 1_000) == .discard)
        #expect(step(416, [:], after: 1_000) == .discard)
        #expect(step(416, ["Content-Range": "bytes */99999999999999999999"], after: 1_000) == .discard)
        #expect(step(416, headers, after: 1_000, at: URL(filePath: "/other")) == .discard)
        let date = "Sun, 22 Nov 2026 10:00:00 GMT"
        let dated = Self.record(date)
        #expect(step(416, headers, after: 1_000, of: dated) == .complete)
        #expect(step(416, headers.merging(["Last-Modified": date]), after: 1_000, of: dated) == .complete)
        let later = headers.merging(["Last-Modified": "Mon, 23 Nov 2026 10:00:00 GMT"])
        #expect(step(416, later, after: 1_000, of: dated) == .discard)
    }

    @Test func aRecordBelongsToOneContentAndUser() {
        let record = Self.record()
        #expect(record.isOf(Self.content))
        for (path, user) in [("/b", "alice"), ("/a", "bob"), ("/a", "")] {
            #expect(!record.isOf(DownloadRecord.Content(at: URL(filePath: path), for: user)))
        }
        let unknown = DownloadRecord(
            of: nil,
            at: Self.place,
            headers: ["ETag": "\"1\""],
            statusCode: 200,
            fileName: nil
        )
        #expect(unknown.validator == nil && !unknown.isOf(Self.content))
    }

    @Test func aRecordIsReadIfItsFormatIsKnown() throws {
        let record = Self.record()
        #expect(DownloadRecord(try JSONEncoder().encode(record)) == record)
        var other = record
        for version in [3, 5] {
            other.version = version
            #expect(DownloadRecord(try JSONEncoder().encode(other)) == nil)
        }
        (other.version, other.length) = (4, .min)
        #expect(DownloadRecord(try JSONEncoder().encode(other)) == nil)
        other.length = 1_000
        #expect(DownloadRecord(try JSONEncoder().encode(other)) == record)
    }

    @Test func afterAnotherStartOfTheSystemNoBytesAreUsable() {
        let record = Self.record()
        #expect(record.usableLength(of: 400, boot: "b") == 400)
        #expect(record.usableLength(of: 400, boot: "c") == 0)
        #expect(record.usableLength(of: 400, boot: nil) == 0)
        #expect(record.usableLength(of: 1_001, boot: "b") == 0)
        #expect(Self.record(nil).usableLength(of: 400, boot: "b") == 0)
    }

    /// Foundation's decoder does not survive it.
    @Test func deeplyNestedFileIsNoRecord() {
        let data = Data(repeating: UInt8(ascii: "["), count: 513)
        #expect(DownloadRecord(data) == nil)
    }

    @Test(arguments: [
        ("/a", "/a#part", true), ("/a?v=1", "/a?v=2", false), ("/a?token=1", "/a?token=2", false),
        ("/a;t=1", "/a;t=2", false),
        ("/a?v=1&sv=1&sig=1&se=1", "/a?v=1&sv=1&sig=2&se=2", true), ("/a?sig=1", "/a?sig=2", false),
        ("/a", "/a?v=1", false),
    ])
    func theSignatureOfAURLNamesNoContent(one: String, other: String, isSame: Bool) throws {
        let texts = try [one, other].map { try #require(URL(string: "https://host\($0)")).contentText }
        #expect((texts[0] == texts[1]) == isSame)
    }

    /// Anyone who can list the folder could check guesses of a short secret.
    @Test(arguments: [
        ("/a?id=1", "/a?id=2", false), ("/a", "/b", false), ("/a?token=1", "/a?token=2", true),
        ("/a;t=1", "/a;t=2", true),
        ("/a?u=%2Fx%3Ftoken%3D1", "/a?u=%2Fx%3Ftoken%3D2", true), ("/a?u=b=1", "/a?u=b=2", true),
    ])
    func theNameInAFolderHasNoDigestOfASecret(one: String, other: String, isSame: Bool) throws {
        let names = try ["host\(one)", "host\(other)", "a:b@host\(one)"].map { text in
            let url = try #require(URL(string: "https://\(text)"))
            return url.nameDigest(path: url.path(), without: Secrets())
        }
        #expect((names[0] == names[1]) == isSame && names[2] == names[0])
    }
}
