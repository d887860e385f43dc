#if os(Linux)
import Errand
import Foundation
import Testing

@testable import ErrandCurl

/// The size of a header section, line by line.
@Suite struct HeaderSectionTests {
    private static func reason(_ lines: [String], limit: Int) -> NetworkError.Reason? {
        var section = HeaderSection()
        for line in lines {
            let reason = Data("\(line)\r\n".utf8).withUnsafeBytes { section.add($0, limit: limit) }
            if let reason { return reason }
        }
        return nil
    }

    private static let ok = ["HTTP/1.1 200 A long reason", "ab: cd", "ef:  gh\t ", "i:", ""]
    private static let interim = ["HTTP/1.1 103 Early Hints", "Link: </a>", ""]

    @Test func namesAndValuesOfOneSectionCount() {
        #expect(Self.reason(Self.ok, limit: 9) == nil)
        #expect(Self.reason(Self.ok, limit: 8) == .headerSectionTooLarge)
        #expect(Self.reason(Self.interim + Self.interim + Self.ok, limit: 9) == nil)
        #expect(Self.reason(Self.interim + Self.ok, limit: 7) == .headerSectionTooLarge)
        // A continuation belongs to its field (RFC 9112, section 5.2).
        #expect(Self.reason(["HTTP/1.1 200 OK", "ab: cd", "  ef", ""], limit: 6) == nil)
        #expect(Self.reason(["HTTP/1.1 200 OK", "ab: cd", "  ef", ""], limit: 5) == .headerSectionTooLarge)
    }

    @Test func whatIsNoNameOrValueIsLimitedToo() {
        let spaces = String(repeating: " ", count: 70_000)
        #expect(Self.reason(["HTTP/1.1 200 OK", "a:\(spaces)b"], limit: 100) == .headerSectionTooLarge)
        #expect(Self.reason(["HTTP/1.1 200 \(spaces)"], limit: 100) == .headerSectionTooLarge)
        let sections = Array(repeating: Self.interim, count: 2_000).joined()
        #expect(Self.reason(Array(sections), limit: 100) == .headerSectionTooLarge)
        #expect(Self.reason(Array(sections), limit: .max) == nil)
    }

    @Test func trailersCountWithTheFinalSection() {
        #expect(Self.reason(Self.ok + ["ab: cd"], limit: 17) == nil)
        #expect(Self.reason(Self.ok + ["ab: cd", "ab: cd"], limit: 17) == .headerSectionTooLarge)
    }
}
#endif
