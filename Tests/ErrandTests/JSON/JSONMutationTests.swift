import Foundation
import Testing

@testable import Errand

/// Random texts, intact and damaged: nothing traps, all parts agree, and Foundation agrees where it should.
@Suite(.ownThread) struct JSONMutationTests {
    private static let rounds = ProcessInfo.processInfo.environment["ERRAND_ROUNDS"].flatMap(Int.init) ?? 5_000

    @Test func partsAgreeOnEveryText() throws {
        var random = RandomJSON()
        for _ in 0..<Self.rounds {
            let text = random.value().utf8Text
            #expect(check(text), "\(String(decoding: text, as: UTF8.self)) is JSON")
            let damaged = random.damaged(text)
            _ = check(damaged)
            _ = check(Array("{\"code\":0,\"data\":".utf8) + damaged + [UInt8(ascii: "}")])
        }
    }

    @Test(.enabled(if: JSONTestSuite.isPresent, "set ERRAND_SUITES to run"))
    func partsAgreeOnDamagedSuiteFiles() throws {
        var random = RandomJSON()
        let files = try JSONTestSuite.files().filter { $0.data.count < 10_000 }
        for file in files {
            for _ in 0..<max(1, Self.rounds / 250) { _ = check(random.damaged(Array(file.data))) }
        }
    }

    @Test func foundationAcceptsTheSameTexts() throws {
        var random = RandomJSON()
        for _ in 0..<Self.rounds {
            let text = random.damaged(random.value().utf8Text)
            let own = Result { () throws(JSONError) in
                // Without a repair.
                _ = try text.withUnsafeBytes { bytes in
                    Result { () throws(JSONError) in try JSONScanner.validate(bytes) }
                }.get()
                return try JSONValue(parsing: Data(text))
            }
            let isAcceptedThere =
                (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            switch own {
            case .success(let value):
                // Foundation has no way to keep a number beyond the largest Double.
                #expect(isAcceptedThere || hasHugeNumber(value), "\(text)")
            case .failure(let error):
                #expect(!isAcceptedThere || isKnownDifference(error, in: text), "\(error): \(text)")
            }
        }
    }

    /// Runs everything that reads bytes over `text`, at a place where reading beyond the end can be seen.
    private func check(_ text: [UInt8]) -> Bool {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { bytes.deallocate() }
        bytes.copyBytes(from: text)
        let body = UnsafeRawBufferPointer(bytes)
        let scanner = JSONScanner(body)
        _ = scanner.skipValue(at: 0)
        for path in ["data", "*.*", "data.*.id", "[0]", "(-2,0)", "data|json"] as [JSONPath] {
            _ = try? path.range(in: body)  // Anything but a trap will do.
        }
        let shape: JSONShape = ["code": .integer, "data": .object.optional.nullable]
        let members = Result { () throws(JSONError) in
            try JSONIndex.members(JSONMemberTree(members: ["code", "data"]), in: body)
        }
        let range: Range<Int>
        do {
            range = try JSONScanner.validate(body)
        } catch {
            #expect(throws: JSONError.self) { try members.get() }
            // It may be valid after a repair.
            if error.reason != .invalidUTF8 { #expect(throws: JSONError.self) { try shape.check(Data(text)) } }
            _ = try? JSONValue(parsing: Data(text))
            return false
        }
        _ = try? shape.check(at: range.lowerBound, in: scanner)
        #expect(scanner.skipValue(at: range.lowerBound) == range.upperBound)
        guard let value = try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: body[range])) else {
            Issue.record("what is valid is not parsed")
            return true
        }
        #expect((try? JSONValue(parsing: value.data)) == value)
        if let ranges = try? members.get(), let object = value.object {
            #expect(
                ranges[0].flatMap { try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: body[$0])) }
                    == object["code"]
            )
            #expect(
                ranges[1].flatMap { try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: body[$0])) }
                    == object["data"]
            )
        }
        return true
    }

    /// Trailing commas, and what Foundation takes for a byte order mark, UTF-16 or UTF-32.
    private func isKnownDifference(_ error: JSONError, in text: [UInt8]) -> Bool {
        if text.prefix(4).contains(0) || text.starts(with: [0xEF, 0xBB, 0xBF]) || text.starts(with: [0xFE, 0xFF]) {
            return true
        }
        if text.starts(with: [0xFF, 0xFE]) { return true }
        guard case .syntax = error.reason, let offset = error.offset, offset < text.count else { return false }
        let before = text[..<offset].last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return before == UInt8(ascii: ",") && [UInt8(ascii: "]"), UInt8(ascii: "}")].contains(text[offset])
    }

    private func hasHugeNumber(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let number): number.double == nil
        case .array(let elements): elements.contains(where: hasHugeNumber)
        case .object(let members): members.contains { hasHugeNumber($0.value) }
        default: false
        }
    }
}
