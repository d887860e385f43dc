import Foundation
import Testing

@testable import Errand

@Suite(.ownThread) struct JSONValueTests {
    @Test func literalsAndAccessors() {
        let value: JSONValue = [
            "id": 7, "price": 1.5, "name": "n\("")", "on": true, "tags": ["a", "b"], "note": nil,
            "in": ["x": [1, [2]]],
        ]
        #expect(value["id"]?.int == 7)
        #expect(value["id"]?.double == 7)
        #expect(value["price"]?.double == 1.5)
        #expect(value["price"]?.decimal == Decimal(string: "1.5"))
        #expect(value["price"]?.int == nil)
        #expect(value["name"]?.string == "n")
        #expect(value["on"]?.bool == true)
        #expect(value["tags"]?.array == ["a", "b"])
        #expect(value["in"]?["x"]?[1]?[0]?.int == 2)
        #expect(value["in"]?.object?.count == 1)
        #expect(value["note"] == .null)
        #expect(value["note"]?.isNull == true)
        #expect(value["missing"] == nil)
        #expect(value["tags"]?[2] == nil)
        #expect(value["tags"]?[-1] == nil)
        #expect(value["id"]?.string == nil)
        #expect(value["on"]?.int == nil)
        #expect(value[0] == nil)
        #expect(JSONValue.null.string == nil)
    }

    @Test(arguments: [
        "null", "true", "[]", "{}", "1.0", "1e400", "-0", "[1,2.50,[{}]]", #"{"b":1,"a":{"d":[],"c":null}}"#,
        #"["\"\\\n\r\t\u0001é山😀"]"#, #"{"a":1,"a":2}"#, "12345678901234567890123456789012345678901234567890", "\"/\"",
    ])
    func textIsPreserved(text: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(value.description == text)
        #expect(try JSONValue(parsing: value.data) == value)
    }

    @Test func escapesAreReadAndOnlyNeededOnesWritten() throws {
        let value = try JSONValue(parsing: #""\u0041\/\b\f\u00e9\ud83d\ude00\u0000\u007f""#)
        #expect(value.string == "A/\u{8}\u{C}é😀\u{0}\u{7F}")
        #expect(value.description == "\"A/\\u0008\\u000cé😀\\u0000\u{7F}\"")
    }

    @Test func whiteSpaceIsRead() throws {
        #expect(
            try JSONValue(parsing: " { \"a\" : [ 1 , { } , [ ] ] , \"b\" : \"x\" } \n") == [
                "a": [1, [:], []], "b": "x",
            ]
        )
    }

    @Test func deepTextIsReadUpToTheLimit() throws {
        let text = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSONValue(parsing: text, maximumDepth: 512).description == text)
        #expect(throws: JSONError(.tooDeep(limit: 128), offset: 128)) { try JSONValue(parsing: text) }
    }

    @Test func dataFromTheMiddleOfOtherDataIsRead() throws {
        let data = Data("xx[1]yy".utf8)
        #expect(try JSONValue(parsing: data[2..<5]) == [1])
    }

    @Test(arguments: [
        "1.0000000000000001", "-1.0000000000000001", "12345678901234567.5", "900719925474099.31e1", "0.1", "1.0", "1e2",
        "9007199254740993", "90071992547409930e-1", "9223372036854775807", "-9223372036854775808",
        "9223372036854775806.5", "9223372036854775809.5", "18446744073709551615", "18446744073709551614.5",
    ])
    func foundationsDecoderRoundsNoNumber(text: String) throws {
        struct Model: Decodable {
            let value: JSONValue
            let number: JSONNumber
        }
        let model = try JSONDecoder().decode(Model.self, from: Data(#"{"value":\#(text),"number":\#(text)}"#.utf8))
        #expect(try model.value == JSONValue(parsing: text))
        #expect(model.number == JSONNumber(text))
    }

    @Test func foundationsCodersKeepTheValue() throws {
        let value: JSONValue = ["a": [1, 2.5, true, nil, "s"], "b": ["c": -9_007_199_254_740_993], "e": [], "o": [:]]
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
        let exact = #"[0.1,18446744073709551615,1e300,12345678901234567890.5]"#
        let decoded = try JSONDecoder().decode(JSONValue.self, from: Data(exact.utf8))
        #expect(try decoded == JSONValue(parsing: exact))
        #expect(try JSONDecoder().decode(JSONObject.self, from: Data(#"{"a":1}"#.utf8)) == ["a": 1])
        #expect(try JSONDecoder().decode(JSONNumber.self, from: Data("5".utf8)) == 5)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONNumber.self, from: Data("\"5\"".utf8)) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(JSONValue(parsing: "1e400")) }
        let repeated = try JSONValue(parsing: #"{"a":1,"a":2}"#)
        #expect(try String(decoding: JSONEncoder().encode(repeated), as: UTF8.self) == #"{"a":1}"#)
    }
}
