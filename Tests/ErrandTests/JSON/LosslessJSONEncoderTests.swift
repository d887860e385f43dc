import Foundation
import Testing

@testable import Errand

@Suite struct LosslessJSONEncoderTests {
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
        guard case .invalidValue(_, let context) = error else { throw Unexpected(error) }
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
        func encode(_ value: some Encodable) throws -> JSONValue? {
            try LosslessJSONEncoder().value(of: value, .init(keyFilter: filter))
        }
        #expect(try encode(Outer())?.description == #"{"id":1,"inner":{"path":"in","_id":2}}"#)
        #expect(try encode(["path": 1, "_a": 2])?.description == #"{"a":2}"#)
        #expect(try encode(["path": 1, "_a": ["path": 2]] as JSONValue)?.description == #"{"a":{"path":2}}"#)
        #expect(try encode(["path": 1, "_a": 2] as JSONObject)?.description == #"{"a":2}"#)
        #expect(try encode([Inner()])?.description == #"[{"path":"in","_id":2}]"#)
        #expect(try encode(Explicit())?.object?.names == JSONValue(encoding: Explicit()).object?.names)
        #expect(try LosslessJSONEncoder().value(of: Explicit(), .init(keyFilter: { _ in nil })) == [:])
    }

    /// Encodes without `nil`.
    private func compact(_ value: some Encodable) throws -> JSONValue? {
        try LosslessJSONEncoder().value(of: value, .init(omitsNil: true))
    }

    @Test func nilIsOmittedAtEveryDepthIfRequested() throws {
        struct Inner: Encodable {
            var list: [Int?] = [1, nil]
            var map = ["a": Int?.none]
            var value = JSONValue.null
        }
        #expect(try compact(Inner())?.description == #"{"list":[1],"map":{},"value":null}"#)
        #expect(try compact(Int?.none) == nil)
        #expect(try compact(Int?.some(1)) == 1)
        #expect(try compact(JSONValue.null) == .null)
    }

    /// A dictionary whose keys are not strings is an array of keys and values.
    @Test func keysWhoseValueIsNilAreOmittedWithIt() throws {
        let suits: [Suit: Int?] = [.spades: 1, .hearts: nil, .clubs: 3]
        #expect(try compact(suits)?.description == #"["clubs",3,"spades",1]"#)
        #expect(try compact([suits])?.description == #"[["clubs",3,"spades",1]]"#)
        #expect(try compact([Suit.hearts: Int?.none])?.description == "[]")
        #expect(try compact([Suit?.none: 1])?.description == "[null,1]")
        #expect(try JSONValue(encoding: suits).description == #"["clubs",3,"hearts",null,"spades",1]"#)
    }

    @Test func containersThatAreFilledInAnyOrderKeepTheirPlaces() throws {
        struct Mixed: Encodable {
            func encode(to encoder: any Encoder) throws {
                func key(_ name: String) -> JSONCodingKey { JSONCodingKey(stringValue: name) }
                var outer = encoder.container(keyedBy: JSONCodingKey.self)
                var first = outer.nestedContainer(keyedBy: JSONCodingKey.self, forKey: key("first"))
                var second = outer.nestedUnkeyedContainer(forKey: key("second"))
                try outer.encode(1, forKey: key("third"))
                try second.encode("a")
                var inner = first.nestedUnkeyedContainer(forKey: key("inner"))
                try second.encode(["b": 2])
                try first.encode(true, forKey: key("flag"))
                try inner.encode(3.5)
                try outer.encode(0, forKey: key("first"))
                try outer.encode(4, forKey: key("third"))
            }
        }
        let text = #"[{"second":["a",{"b":2}],"first":0,"third":4}]"#
        #expect(try JSONValue(encoding: [Mixed()]).description == text)
    }

    @Test func theLastOfTwoMembersWithOneNameCounts() throws {
        struct Twice: Encodable {
            enum Keys: CodingKey { case a, b }
            enum Others: CodingKey { case b, c, a }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .a)
                try container.encode([1], forKey: .b)
                try container.encode(2, forKey: .a)
                var others = encoder.container(keyedBy: Others.self)
                try others.encode("c", forKey: .c)
                try others.encode("b", forKey: .b)
                try container.encode(Double.zero, forKey: .b)
            }
        }
        #expect(try JSONValue(encoding: Twice()).description == #"{"a":2,"c":"c","b":0}"#)
    }

    @Test func whatThrowsIsLeftOutIfTheCallerGoesOn() throws {
        struct Tolerant: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: JSONCodingKey.self)
                try container.encode(1, forKey: JSONCodingKey(stringValue: "a"))
                try? container.encode(["x": [Double.nan]], forKey: JSONCodingKey(stringValue: "b"))
                var list = container.nestedUnkeyedContainer(forKey: JSONCodingKey(stringValue: "c"))
                try? list.encode(Double.infinity)
                try list.encode(2)
            }
        }
        #expect(try JSONValue(encoding: [Tolerant()]).description == #"[{"a":1,"c":[2]}]"#)
    }

    @Test func aMemberThatFailsOrIsNilInPlaceOfAnotherLeavesSoundText() throws {
        struct Twice: Encodable {
            enum Keys: CodingKey { case a, b, c }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .a)
                try container.encode("b", forKey: .b)
                try? container.encode([Double.nan], forKey: .a)
                try container.encodeNil(forKey: .b)
                try container.encode([2], forKey: .c)
                try container.encode([3], forKey: .c)
            }
        }
        #expect(try compact([Twice()])?.description == #"[{"a":1,"b":"b","c":[3]}]"#)
        #expect(try JSONValue(encoding: Twice()).description == #"{"a":1,"b":null,"c":[3]}"#)
    }

    @Test func aTreeOfMoreThan512LevelsThrows() throws {
        final class Node: Encodable {
            let next: Node?
            init(_ next: Node?) { self.next = next }
        }
        let deep = (0..<600).reduce(Node(nil)) { next, _ in Node(next) }
        #expect(throws: EncodingError.self) { try JSONValue(encoding: deep) }
        #expect(try LosslessJSONEncoder().encode(deep).count == 600 * 9 + 2)
    }

    @Test func aContainerThatIsUsedWithinAnotherValueThrows() throws {
        final class Kept { var container: (any UnkeyedEncodingContainer)? }
        struct Late: Encodable {
            let kept: Kept
            func encode(to encoder: any Encoder) throws {
                var own = encoder.unkeyedContainer()
                try own.encode(1)
                try kept.container?.encode(2)
            }
        }
        struct Outer: Encodable {
            let kept = Kept()
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                kept.container = container
                try container.encode(Late(kept: kept))
            }
        }
        #expect(throws: EncodingError.self) { try LosslessJSONEncoder().encode(Outer()) }
    }

    @Test func membersAreSortedIfRequested() throws {
        var encoder = LosslessJSONEncoder()
        encoder.sortsKeys = true
        let text = String(decoding: try encoder.encode(Explicit()), as: UTF8.self)
        #expect(
            text
                == #"{"again":4,"list":[1,{"in":"x"},[null],true],"null":null,"object":{"empty":[]},"other":2,"super":"base"}"#
        )
    }

    @Test func stringsAreEscapedOnlyWhereJSONRequiresIt() throws {
        let text = "/ \" \\ \u{0} \u{1F} \u{7F} \n\r\t ä 😀 \u{2028} long enough for more than one word"
        let data = try LosslessJSONEncoder().encode([text])
        #expect(try JSONDecoder().decode([String].self, from: data) == [text])
        #expect(String(decoding: data, as: UTF8.self).hasPrefix(#"["/ \" \\ \u0000 \u001f "#))
    }

    @Test(arguments: [
        "name", "firstName", "aB", "myURLProperty", "URLSession", "x1Y2", "a_B", "_id", "ABC", "ÄÖü", "oneTwoThree", "",
    ])
    func snakeCaseIsThatOfFoundation(name: String) throws {
        let foundation = JSONEncoder()
        foundation.keyEncodingStrategy = .convertToSnakeCase
        var own = LosslessJSONEncoder()
        own.keys = .snakeCase
        struct One: Encodable {
            let name: String
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: JSONCodingKey.self)
                try container.encode(1, forKey: JSONCodingKey(stringValue: name))
            }
        }
        #expect(try own.encode(One(name: name)) == foundation.encode(One(name: name)))
    }

    @Test func formatsOfAServicesOwnAreWrittenAndRead() throws {
        struct Model: Codable, Equatable {
            var date: Date
            var data: Data
            var numbers: [Double]
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 8 * 3600)
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        var (encoder, decoder) = (LosslessJSONEncoder(), LosslessJSONDecoder())
        (encoder.dates, encoder.data, encoder.floats) = (.formatted(formatter), .bytes, JSONFloatNames())
        (decoder.dates, decoder.data, decoder.floats) = (encoder.dates, .bytes, JSONFloatNames())
        let model = Model(
            date: Date(timeIntervalSince1970: 0),
            data: Data([0, 255]),
            numbers: [.infinity, -.infinity, 1.5]
        )
        let text = try encoder.encode(model)
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"date":"1970-01-01 08:00:00","data":[0,255],"numbers":["Infinity","-Infinity",1.5]}"#
        )
        #expect(try decoder.decode(Model.self, from: text) == model)
        #expect(throws: DecodingError.self) { try decoder.decode([Date].self, from: Data(#"["1970-01-01"]"#.utf8)) }
        encoder.dates = .secondsSinceReferenceDate
        #expect(try encoder.encode([model.date]) == JSONEncoder().encode([model.date]))
    }

    /// A key of a test.
    private enum Name: String, CodingKey { case first, second, third }

    private struct Written: Encodable {
        let write: (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try write(encoder) }
    }

    @Test func whatWasWrittenInOnePlaceIsContinued() throws {
        func text(_ write: @escaping (any Encoder) throws -> Void) throws -> String {
            String(decoding: try LosslessJSONEncoder().encode(Written(write: write)), as: UTF8.self)
        }
        let flat = try text {
            var value = $0.singleValueContainer()
            try value.encode(["a": 1, "b": 2])
            var object = $0.container(keyedBy: Name.self)
            try object.encode(9, forKey: .first)
        }
        #expect(flat == #"{"a":1,"b":2,"first":9}"#)
        let list = try text {
            var value = $0.singleValueContainer()
            try value.encode([1, 2])
            var list = $0.unkeyedContainer()
            #expect(list.count == 2)
            try list.encode(3)
        }
        #expect(list == "[1,2,3]")
        let nested = try text {
            var object = $0.container(keyedBy: Name.self)
            try object.encode(["a": 1], forKey: .second)
            for (key, number) in [(Name.first, 1), (.second, 2), (.first, 3)] {
                var inner = object.nestedContainer(keyedBy: JSONCodingKey.self, forKey: key)
                try inner.encode(number, forKey: JSONCodingKey(intValue: number))
                var list = object.nestedUnkeyedContainer(forKey: .third)
                try list.encode(number)
            }
        }
        #expect(nested == #"{"first":{"1":1,"3":3},"third":[1,2,3],"second":{"a":1,"2":2}}"#)
        #expect(throws: EncodingError.self) {
            try text {
                var value = $0.singleValueContainer()
                try value.encode(1)
                try value.encode(2)
            }
        }
    }

    @Test func sortedKeysAreThoseOfTreesToo() throws {
        var encoder = LosslessJSONEncoder()
        encoder.sortsKeys = true
        let tree: JSONValue = ["b": [["d": 1, "c": 2]], "a": 2, "a\n": 3, "a\"": 4]
        let sorted = #"{"a":2,"a\n":3,"a\"":4,"b":[{"c":2,"d":1}]}"#
        #expect(try String(decoding: encoder.encode(tree), as: UTF8.self) == sorted)
        #expect(try String(decoding: encoder.encode(["x": tree]), as: UTF8.self) == #"{"x":\#(sorted)}"#)
    }

    @Test func keysOfATypeAreConvertedInADictionary() throws {
        enum Key: String, Codable, CodingKeyRepresentable { case firstName }
        var encoder = LosslessJSONEncoder()
        encoder.keys = .snakeCase
        #expect(try String(decoding: encoder.encode([Key.firstName: 1]), as: UTF8.self) == #"{"first_name":1}"#)
        #expect(try String(decoding: encoder.encode(["firstName": 1]), as: UTF8.self) == #"{"firstName":1}"#)
    }

    @Test func membersThatOccurTwiceAreWrittenInLinearTime() {
        expectLinear(500) { count in
            _ = try? LosslessJSONEncoder().encode(
                Written {
                    var object = $0.container(keyedBy: JSONCodingKey.self)
                    for number in 0..<2 * count {
                        try object.encode(number, forKey: JSONCodingKey(intValue: number % count))
                    }
                }
            )
        }
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
