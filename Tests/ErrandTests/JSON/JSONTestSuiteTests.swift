import Foundation
import Testing

@testable import Errand

/// The parsing files of JSONTestSuite (github.com/nst/JSONTestSuite), from the folder named by `ERRAND_SUITES`.
enum JSONTestSuite {
    static let folder = ProcessInfo.processInfo.environment["ERRAND_SUITES"].map {
        URL(filePath: $0).appending(path: "JSONTestSuite/test_parsing")
    }

    static var isPresent: Bool { folder.map { FileManager.default.fileExists(atPath: $0.path()) } ?? false }

    static func files() throws -> [(name: String, data: Data)] {
        let folder = try #require(folder)
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { ($0.lastPathComponent, try Data(contentsOf: $0)) }
    }
}

@Suite(.ownThread, .enabled(if: JSONTestSuite.isPresent, "set ERRAND_SUITES to run"))
struct JSONTestSuiteTests {
    @Test func allFilesAreThere() throws {
        #expect(try JSONTestSuite.files().count == 318)
    }

    @Test func wholeBodiesMatchTheVerdictInTheirNames() throws {
        for (name, data) in try JSONTestSuite.files() {
            let isAccepted = (try? JSONValue(parsing: data)) != nil
            if name.hasPrefix("y_") { #expect(isAccepted, "\(name)") }
            if name.hasPrefix("n_") { #expect(!isAccepted, "\(name)") }
        }
    }

    @Test func dataOfAnEnvelopeMatchesTheVerdictInItsName() throws {
        let url = try #require(URL(string: "https://api.example/x"))
        let filter = EnvelopeFilter(code: "code", message: "message", data: "data")
        let deeper = EnvelopeFilter(code: "status.code", data: "body.data")
        for (name, data) in try JSONTestSuite.files() {
            let body = Array("{\"code\":0,\"data\":".utf8) + data + Array(",\"message\":\"\"}".utf8)
            let nested = Array("{\"body\":".utf8) + body + Array(",\"status\":{\"code\":0}}".utf8)
            for (filter, body) in [(filter, body), (deeper, nested)] {
                let payload = try? filter.filter(RawResponse(body: Data(body), url: url), for: RequestContext())
                if name.hasPrefix("y_") {
                    #expect(try payload?.decode(JSONValue.self) == JSONValue(parsing: data), "\(name)")
                }
                if name.hasPrefix("n_") { #expect(payload == nil, "\(name)") }
            }
        }
    }

    @Test func bodiesInAnEnvelopeMatchTheVerdictInTheirNames() throws {
        let tree = JSONMemberTree(members: ["code", "data"])
        for (name, data) in try JSONTestSuite.files() {
            let body = Array("{\"code\":0,\"data\":".utf8) + data + Array(",\"message\":\"\"}".utf8)
            let range = body.withUnsafeBytes { try? JSONIndex.members(tree, in: $0)?[1] }
            if name.hasPrefix("y_") { #expect(range != nil, "\(name)") }
            if name.hasPrefix("n_") { #expect(range == nil, "\(name)") }
        }
    }
}
