import Foundation
import Testing

@testable import Errand

@Suite struct JSONShapeTests {
    private static let user: JSONShape = [
        "id": .integer(in: 1...),
        "name": .string(minimumLength: 1, maximumLength: 5),
        "state": .string(oneOf: ["open", "clösed"]),
        "nickname": .string.optional,
        "deletedAt": .string.nullable,
        "note": .string.optional.nullable,
        "tags": [.string],
        "owner": ["id": .integer, "a.b": .bool.optional],
        "scores": .values(.number).optional,
    ]

    private static let whole = """
        {"id":1,"name":"é山😀ab","state":"cl\\u00f6sed","deletedAt":null,"tags":["a","b"],"owner":{"id":2},"x":[1,"y"]}
        """

    @Test func aTextOfTheShapePasses() {
        #expect(throws: Never.self) { try Self.user.check(Data(Self.whole.utf8)) }
    }

    @Test(arguments: [
        (#""id":1"#, #""id":0"#, JSONError.Reason.violates(rule: "an integer of at least 1"), "id"),
        (#""id":1"#, #""id":1.5"#, .violates(rule: "an integer of at most 64 bits, without a fraction"), "id"),
        (#""id":1"#, #""id":"1""#, .typeMismatch(expected: "an integer", found: "a string"), "id"),
        (#""id":1"#, #""id":true"#, .typeMismatch(expected: "an integer", found: "a Boolean"), "id"),
        (#""id":1"#, #""id":null"#, .null, "id"),
        (#""id":1"#, #""ID":1"#, .missing, "id"),
        (#""id":1"#, #""id":1,"id":1"#, .duplicateMember("id"), ""),
        (#""é山😀ab""#, #""é山😀abc""#, .violates(rule: "a string of at least 1 and at most 5 characters"), "name"),
        (#""é山😀ab""#, #""""#, .violates(rule: "a string of at least 1 and at most 5 characters"), "name"),
        (#""cl\u00f6sed""#, #""x""#, .violates(rule: #"a string that is one of "open", "clösed""#), "state"),
        (#""deletedAt":null"#, #""deletedAt":1"#, .typeMismatch(expected: "a string", found: "a number"), "deletedAt"),
        (#""deletedAt":null,"#, "", .missing, "deletedAt"),
        (#"["a","b"]"#, #"["a",2]"#, .typeMismatch(expected: "a string", found: "a number"), "tags[1]"),
        (#"["a","b"]"#, #"["a",null]"#, .null, "tags[1]"),
        (#"["a","b"]"#, #"{}"#, .typeMismatch(expected: "an array", found: "an object"), "tags"),
        (#"{"id":2}"#, #"{"id":2,"a.b":1}"#, .typeMismatch(expected: "a Boolean", found: "a number"), #"owner."a.b""#),
        (#"{"id":2}"#, "{}", .missing, "owner.id"),
        (#"{"id":2}"#, "[]", .typeMismatch(expected: "an object", found: "an array"), "owner"),
        (
            #""x":[1,"y"]"#, #""scores":{"secret":"y"}"#, .typeMismatch(expected: "a number", found: "a string"),
            "scores.*"
        ),
        (#""x":[1,"y"]"#, #""nickname":null"#, .null, "nickname"),
    ])
    func aDifferenceIsReportedWithItsPath(part: String, other: String, reason: JSONError.Reason, path: String) throws {
        let text = Self.whole.replacing(part, with: other)
        let error = try #require(throws: JSONError.self) { try Self.user.check(Data(text.utf8)) }
        #expect(error.reason == reason)
        #expect(error.path ?? "" == path)
        #expect(error.offset != nil)
        #expect(!error.description.contains("secret"))
    }

    @Test func typesAreDistinguished() {
        expect(.any, accepts: ["[1]", "0", "\"\""], refuses: ["null", "[1,]"])
        expect(.any.nullable, accepts: ["null", "1"], refuses: [""])
        expect(.null, accepts: ["null"], refuses: ["0", "false"])
        expect(.bool, accepts: ["true", "false"], refuses: ["0", "null", "\"true\""])
        expect(.number, accepts: ["-1.5e3", "1e400"], refuses: ["true", "\"1\""])
        expect(.string, accepts: ["\"\\n\""], refuses: ["1", "[]"])
        expect(.array, accepts: ["[]", "[1,null]"], refuses: ["{}"])
        expect(.object, accepts: ["{}", "{\"a\":null}"], refuses: ["[]"])
        expect([], accepts: ["[]", "[1,null]"], refuses: ["{}"])
        expect([:], accepts: ["{}", "{\"a\":1}"], refuses: ["[]"])
    }

    @Test func integersStayInTheirRange() {
        expect(
            .integer,
            accepts: ["1e2", "1.0", "-9223372036854775808"],
            refuses: ["9223372036854775808", "0.5", "01"]
        )
        expect(.integer(in: 0..<10), accepts: ["0", "9"], refuses: ["-1", "10"])
        expect(.integer(in: ..<10), accepts: ["-5"], refuses: ["10"])
        expect(.integer(in: ...10), accepts: ["10"], refuses: ["11"])
        expect(.integer(in: 1...2), accepts: ["1", "2"], refuses: ["0", "3"])
        expect(.integer(in: 5..<5), accepts: [], refuses: ["5"])
    }

    @Test func stringsAndArraysHaveLengths() {
        expect(.string(minimumLength: 2), accepts: ["\"ab\"", "\"éé\""], refuses: ["\"é\""])
        expect(.string(maximumLength: 1), accepts: ["\"\"", "\"\\u00e9\""], refuses: ["\"ab\""])
        expect(.string(minimumLength: 2, maximumLength: 1), accepts: [], refuses: ["\"a\""])
        expect(.string(oneOf: []), accepts: [], refuses: ["\"\""])
        expect(.array(of: .integer, minimumCount: 1), accepts: ["[1]"], refuses: ["[]"])
        expect(.array(of: .integer, maximumCount: 1), accepts: ["[]"], refuses: ["[1,2]"])
        expect(.array(of: .integer, minimumCount: 2, maximumCount: 1), accepts: [], refuses: ["[1]"])
        expect([[.integer]], accepts: ["[[1],[]]"], refuses: ["[[1],[null]]", "[1]"])
        expect([["id": .integer.nullable]], accepts: ["[{\"id\":null}]", "[]"], refuses: ["[{}]", "[1]"])
    }

    @Test func objectsMayBeClosed() {
        expect(.exactly(["a": .integer]), accepts: ["{\"a\":1}"], refuses: ["{\"a\":1,\"b\":2}", "{}"])
        expect(.exactly(["a": .integer.optional]), accepts: ["{}"], refuses: ["{\"b\":1}"])
    }

    @Test func invalidShapesAreReported() {
        expect([.integer, .string], accepts: [], refuses: ["[1,\"a\"]", "[]"])
        expect(["a": .integer, "a": .string], accepts: [], refuses: ["{\"a\":1}"])
    }

    private func expect(
        _ shape: JSONShape,
        accepts: [String],
        refuses: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for text in accepts {
            #expect(throws: Never.self, "\(text)", sourceLocation: sourceLocation) { try shape.check(Data(text.utf8)) }
        }
        for text in refuses {
            #expect(throws: JSONError.self, "\(text)", sourceLocation: sourceLocation) {
                try shape.check(Data(text.utf8))
            }
        }
    }
}
