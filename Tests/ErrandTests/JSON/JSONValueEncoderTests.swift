import Foundation
import Testing

@testable import Errand

@Suite struct JSONValueEncoderTests {
    private struct Everything: Encodable {
        var zebra = 1
        var apple: String? = nil
        var mango: [Int?] = [1, nil]
        var nested = ["b": ["y": 1.5], "a": ["x": 2.0]]
        var price = Decimal(string: "0.10000000000000000000001") ?? 0
        var link = URL(string: "https://example.com/a?b=c")
        var bytes = Data([1, 2, 255])
        var date = Date(timeIntervalSince1970: 1_714_564_800.75)
        var value: JSONValue = ["z": nil, "a": 1]
        var small: UInt8 = 255
        var large = UInt64.max
        var float: Float = 0.1
        var flag = true
        var state = State.open
        var wide = Int128.max
    }

    private enum State: String, Encodable { case open }

    @Test func storedPropertiesKeepTheirOrderAndNilIsOmitted() throws {
        let text = try JSONValue(encoding: Everything()).description
        #expect(
            text == """
                {"zebra":1,"mango":[1,null],"nested":{"a":{"x":2},"b":{"y":1.5}},"price":0.10000000000000000000001,\
                "link":"https://example.com/a?b=c","bytes":"AQL/","date":"2024-05-01T12:00:00Z",\
                "value":{"z":null,"a":1},"small":255,"large":18446744073709551615,"float":0.1,"flag":true,\
                "state":"open","wide":170141183460469231731687303715884105727}
                """
        )
    }

    private struct Explicit: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: JSONCodingKey.self)
            try container.encodeNil(forKey: JSONCodingKey(stringValue: "null"))
            var list = container.nestedUnkeyedContainer(forKey: JSONCodingKey(stringValue: "list"))
            try list.encode(1)
            var inner = list.nestedContainer(keyedBy: JSONCodingKey.self)
            try inner.encode("x", forKey: JSONCodingKey(stringValue: "in"))
            var deeper = list.nestedUnkeyedContainer()
            try deeper.encodeNil()
            try list.superEncoder().singleValueContainer().encodeOnce(true)
            var object = container.nestedContainer(
                keyedBy: JSONCodingKey.self,
                forKey: JSONCodingKey(stringValue: "object")
            )
            try object.encode([Int](), forKey: JSONCodingKey(stringValue: "empty"))
            try container.superEncoder().singleValueContainer().encodeOnce("base")
            try container.superEncoder(forKey: JSONCodingKey(stringValue: "other")).singleValueContainer().encodeOnce(2)
            // A second container of the same kind adds to the first, and a second value replaces the first.
            var again = encoder.container(keyedBy: JSONCodingKey.self)
            try again.encode(3, forKey: JSONCodingKey(stringValue: "again"))
            try again.encode(4, forKey: JSONCodingKey(stringValue: "again"))
        }
    }

    @Test func everyContainerWritesItsPlace() throws {
        #expect(
            try JSONValue(encoding: Explicit()).description == """
                {"null":null,"list":[1,{"in":"x"},[null],true],"object":{"empty":[]},"super":"base","other":2,"again":4}
                """
        )
    }

    private class Base: Encodable {
        var first = 1
    }

    private final class Derived: Base {
        var second = 2
        private enum Keys: CodingKey { case second }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(second, forKey: .second)
        }
    }

    @Test func aClassAndItsSuperclassShareAnObject() throws {
        #expect(try JSONValue(encoding: Derived()).description == #"{"first":1,"second":2}"#)
    }

    @Test func valuesThatAreNoObjectsAreEncoded() throws {
        #expect(try JSONValue(encoding: [1, 2]) == [1, 2])
        #expect(try JSONValue(encoding: "x") == "x")
        #expect(try JSONValue(encoding: Int?.none) == .null)
        #expect(try JSONValue(encoding: ["a": Int?.none]) == ["a": nil])
        #expect(try JSONValue(encoding: Set([5])) == [5])
        #expect(try JSONValue(encoding: [1: "a"]) == ["1": "a"])
        #expect(try JSONValue(encoding: Date(timeIntervalSince1970: 0)) == "1970-01-01T00:00:00Z")
        struct Nothing: Encodable { func encode(to encoder: any Encoder) {} }
        #expect(try JSONValue(encoding: Nothing()) == [:])
        #expect(try JSONValue(encoding: [Nothing()]) == [[:]])
        struct Empty: Encodable {}
        #expect(try JSONValue(encoding: Empty()) == [:])
    }

    @Test func membersOfADictionaryAreSorted() throws {
        let names = (0..<50).map { "name\($0)" }
        let dictionary = Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
        #expect(try JSONValue(encoding: dictionary).object?.names == names.sorted())
    }

    private enum Suit: String, CaseIterable, Encodable { case spades, hearts, clubs, diamonds }

    @Test func equalSetsAndDictionariesHaveEqualText() throws {
        let names = (0..<40).map { "name\($0)" }
        var reserved = Set<String>(minimumCapacity: 4_000)
        for name in names.reversed() { reserved.insert(name) }
        let sorted = names.sorted().map(JSONValue.string)
        #expect(try JSONValue(encoding: reserved) == .array(sorted))
        #expect(try JSONValue(encoding: ["set": Set(names)])["set"] == .array(sorted))
        #expect(try JSONValue(encoding: [9: "a", 10: "b", 1: "c"]).description == #"{"1":"c","10":"b","9":"a"}"#)
        let suits = Dictionary(uniqueKeysWithValues: Suit.allCases.enumerated().map { ($0.element, $0.offset) })
        #expect(try JSONValue(encoding: suits).description == #"["clubs",2,"diamonds",3,"hearts",1,"spades",0]"#)
    }

    @Test func unsupportedValuesAreRejectedWithTheirPath() throws {
        struct Reading: Encodable { var values = [1.0, .nan] }
        let error = try #require(throws: EncodingError.self) { try JSONValue(encoding: ["r": Reading()]) }
        guard case .invalidValue(_, let context) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["r", "values", "Index 1"])
        #expect(throws: EncodingError.self) { try JSONValue(encoding: Float.infinity) }
        #expect(throws: EncodingError.self) { try JSONValue(encoding: Decimal.nan) }
        #expect(throws: EncodingError.self) { try JSONValue(encoding: Date(timeIntervalSince1970: .infinity)) }
    }

    @Test(arguments: [
        (JSONDateStrategy.iso8601, #""2024-05-01T12:00:00Z""#),
        (.iso8601WithMilliseconds, #""2024-05-01T12:00:00.250Z""#),
        (.secondsSince1970, "1714564800.25"),
        (.millisecondsSince1970, "1714564800250"),
    ])
    func datesFollowTheStrategy(strategy: JSONDateStrategy, text: String) throws {
        let date = Date(timeIntervalSince1970: 1_714_564_800.25)
        #expect(try JSONValue(encoding: date, dates: strategy).description == text)
    }

    @Test func keyFilterDropsAndRenamesOutermostKeysOnly() throws {
        struct Inner: Encodable {
            var path = "in"
            var _id = 2
        }
        struct Outer: Encodable {
            var path = Double.nan
            var _id = 1
            var inner = Inner()
        }
        let filter: (any CodingKey) -> String? = { key in
            let name = key.stringValue
            return name == "path" ? nil : name.hasPrefix("_") ? String(name.dropFirst()) : name
        }
        let encoder = JSONValueEncoder(keyFilter: filter)
        #expect(try encoder.encode(Outer()).description == #"{"id":1,"inner":{"path":"in","_id":2}}"#)
        #expect(try encoder.encode(["path": 1, "_a": 2]).description == #"{"a":2}"#)
        #expect(try encoder.encode(["path": 1, "_a": ["path": 2]] as JSONValue).description == #"{"a":{"path":2}}"#)
        #expect(try encoder.encode(["path": 1, "_a": 2] as JSONObject).description == #"{"a":2}"#)
        #expect(try encoder.encode([Inner()]).description == #"[{"path":"in","_id":2}]"#)
        #expect(try encoder.encode(Explicit()).object?.names == JSONValue(encoding: Explicit()).object?.names)
        let none = JSONValueEncoder(keyFilter: { _ in nil })
        #expect(try none.encode(Explicit()) == [:])
    }

    @Test func nilIsOmittedAtEveryDepthIfRequested() throws {
        struct Inner: Encodable {
            var list: [Int?] = [1, nil]
            var map = ["a": Int?.none]
            var value = JSONValue.null
        }
        let encoder = JSONValueEncoder(omitsNil: true)
        #expect(try encoder.encode(Inner()).description == #"{"list":[1],"map":{},"value":null}"#)
        #expect(try encoder.encodeUnlessNil(Int?.none) == nil)
        #expect(try encoder.encodeUnlessNil(Int?.some(1)) == 1)
        #expect(try encoder.encodeUnlessNil(JSONValue.null) == .null)
    }

    /// A dictionary whose keys are not strings is an array of keys and values.
    @Test func keysWhoseValueIsNilAreOmittedWithIt() throws {
        let suits: [Suit: Int?] = [.spades: 1, .hearts: nil, .clubs: 3]
        let encoder = JSONValueEncoder(omitsNil: true)
        #expect(try encoder.encode(suits).description == #"["clubs",3,"spades",1]"#)
        #expect(try encoder.encode([suits]).description == #"[["clubs",3,"spades",1]]"#)
        #expect(try encoder.encode([Suit.hearts: Int?.none]).description == "[]")
        #expect(try encoder.encode([Suit?.none: 1]).description == "[null,1]")
        #expect(try JSONValue(encoding: suits).description == #"["clubs",3,"hearts",null,"spades",1]"#)
    }

    @Test func agreesWithFoundationsEncoder() throws {
        var everything = Everything()
        everything.nested = [:]
        everything.wide = 5
        everything.float = 0.5
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        #expect(try JSONValue(parsing: encoder.encode(everything)) == JSONValue(encoding: everything))
    }
}

extension SingleValueEncodingContainer {
    fileprivate func encodeOnce(_ value: some Encodable) throws {
        var copy = self
        try copy.encode(value)
    }
}
