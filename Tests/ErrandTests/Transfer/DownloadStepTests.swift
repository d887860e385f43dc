import Errand
import Foundation
import Testing

@testable import Errand

/// The decision about a response to a download, by RFC 9110, sections 14.2 to 15.3.7.
@Suite struct DownloadStepTests {
    private static let place = "https://host/a"

    private static func record(
        _ validator: String? = "\"1\"",
        length: Int64? = 1_000,
        adding added: [String] = []
    ) -> DownloadRecord {
        var record = DownloadRecord(
            of: DownloadIdentity("GET https://host/a", user: ["alice"]),
            adding: added,
            location: place,
            headers: [:],
            statusCode: 200,
            fileName: nil,
            boot: "b"
        )
        (record.validator, record.length) = (validator, length)
        return record
    }

    private func step(
        _ status: Int,
        _ headers: HTTPHeaders,
        after offset: Int64? = 400,
        at location: String = place,
        of record: DownloadRecord? = record()
    ) -> DownloadStep {
        DownloadStep(statusCode: status, headers: headers, location: location, after: offset, of: record)
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
        #expect(step(206, part, at: "https://other/a") == .discard)
    }

    @Test func aPartThatWasNotRequestedIsRejected() {
        #expect(step(206, part, after: nil) == .reject(.unexpectedRange("bytes 400-999/1000")))
        #expect(step(206, [:], of: Self.record(nil)) == .reject(.unexpectedRange("none")))
    }

    @Test func aCompleteContentReplaces() {
        for status in [200, 203] { #expect(step(status, part) == .replace) }
        for status in [200, 201, 203] { #expect(step(status, [:], after: nil, of: nil) == .replace) }
        #expect(step(200, part, after: nil, of: nil) == .replace)
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
        #expect(step(416, headers, after: 1_000, at: "https://other/a") == .discard)
        let date = "Sun, 22 Nov 2026 10:00:00 GMT"
        let dated = Self.record(date)
        #expect(step(416, headers, after: 1_000, of: dated) == .complete)
        #expect(step(416, headers.merging(["Last-Modified": date]), after: 1_000, of: dated) == .complete)
        let later = headers.merging(["Last-Modified": "Mon, 23 Nov 2026 10:00:00 GMT"])
        #expect(step(416, later, after: 1_000, of: dated) == .discard)
    }

    @Test func aRecordIsReadOnlyIfItIsOfTheRequest() throws {
        let identity = DownloadIdentity("GET https://host/a", user: ["alice"])
        let record = Self.record()
        let data = try JSONEncoder().encode(record)
        #expect(DownloadRecord(data, of: identity) == record)
        for other in [
            DownloadIdentity("GET https://host/b", user: ["alice"]),
            DownloadIdentity("GET https://host/a", user: ["bob"]),
            DownloadIdentity("GET https://host/a", user: ["alice", ""]), DownloadIdentity("GET https://host/a"),
        ] { #expect(DownloadRecord(data, of: other) == nil) }
        var other = record
        for version in [1, 3] {
            other.version = version
            #expect(DownloadRecord(try JSONEncoder().encode(other), of: identity) == nil)
        }
        (other.version, other.synced) = (2, -1)
        #expect(DownloadRecord(try JSONEncoder().encode(other), of: identity) == nil)
        (other.synced, other.length) = (0, .min)
        #expect(DownloadRecord(try JSONEncoder().encode(other), of: identity) == nil)
        other.length = 1_000
        #expect(DownloadRecord(try JSONEncoder().encode(other), of: identity) == record)
    }

    @Test func aRecordKnowsWhatHooksAdded() {
        let record = Self.record(adding: ["authorization:1"])
        #expect(record.isOf(adding: ["authorization:1"]) && !record.isOf(adding: []))
        #expect(Self.record().isOf(adding: []) && !Self.record().isOf(adding: ["authorization:1"]))
    }

    @Test func afterACrashOfTheSystemOnlyConfirmedBytesAreUsable() {
        var record = Self.record()
        record.synced = 100
        #expect(record.usableLength(of: 400, boot: "b") == 400)
        #expect(record.usableLength(of: 400, boot: "c") == 100)
        #expect(record.usableLength(of: 50, boot: "c") == 50)
        #expect(record.usableLength(of: 400, boot: nil) == 100)
        #expect(record.usableLength(of: 1_001, boot: "b") == 0)
        #expect(Self.record(nil).usableLength(of: 400, boot: "b") == 0)
    }

    /// Foundation's decoder does not survive it.
    @Test func deeplyNestedFileIsNoRecord() {
        let data = Data(repeating: UInt8(ascii: "["), count: 513)
        #expect(DownloadRecord(data, of: DownloadIdentity("GET https://host/a")) == nil)
    }

    @Test func locationHasNoValueOfTheQuery() throws {
        func location(_ path: String, salt: String = "s") throws -> String {
            let url = try #require(URL(string: "https://host\(path)"))
            return DownloadRecord.location(url, without: Secrets(), salt: salt)
        }
        let one = try location("/a;v=1?b=CANARY&token=1")
        #expect(one.hasPrefix("https://host/a;v=1?") && !one.contains("CANARY"))
        #expect(try location("/a;v=1?b=CANARY&token=2") == one)
        #expect(try location("/a;v=1?b=2&token=1") != one && location("/a;v=1?b=CANARY&token=1", salt: "t") != one)
    }
}
