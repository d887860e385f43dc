import Foundation
import Testing

@testable import Errand

@Suite struct JSONValueDecoderTests {
    private struct Model: Codable, Equatable {
        var id: Int
        var name: String?
        var tags: [String]
        var price: Decimal
        var ratio: Double
        var link: URL
        var bytes: Data
        var date: Date
        var extra: JSONValue
        var children: [Model]?
        var map: [String: Int8]
        var wide: UInt128
    }

    private let text = """
        {"id":1,"tags":["a"],"price":0.1,"ratio":1e-7,"link":"https://example.com","bytes":"AQI=",\
        "date":"2024-05-01T12:00:00Z","extra":{"b":1.0,"a":null},"children":[],"map":{"x":-128},"wide":18446744073709551616}
        """

    @Test func modelIsReadAndWrittenBack() throws {
        let value = try JSONValue(parsing: text)
        let model = try value.decode(Model.self)
        #expect(model.id == 1)
        #expect(model.name == nil)
        #expect(model.price == Decimal(string: "0.1"))
        #expect(model.bytes == Data([1, 2]))
        #expect(model.date == Date(timeIntervalSince1970: 1_714_564_800))
        #expect(model.extra.description == #"{"b":1.0,"a":null}"#)
        #expect(model.map == ["x": -128])
        #expect(model.wide == UInt128(UInt64.max) + 1)
        #expect(try JSONValue(encoding: model) == value)
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        #expect(try foundation.decode(Model.self, from: value.data) == model)
    }

    @Test(arguments: [
        ("1.0", 1), ("1e2", 100), ("-0", 0), ("1.5", nil), ("9223372036854775808", nil), ("1e400", nil), ("true", nil),
        ("\"1\"", nil), ("null", nil),
    ])
    func integersAreExactOrAnError(text: String, expected: Int?) throws {
        let value = try JSONValue(parsing: text)
        if let expected {
            #expect(try value.decode(Int.self) == expected)
        } else {
            #expect(throws: DecodingError.self) { try value.decode(Int.self) }
        }
    }

    @Test func otherScalarsAreStrict() throws {
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "1").decode(Bool.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "1").decode(String.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "1e400").decode(Double.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "1e40").decode(Float.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "256").decode(UInt8.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "\"*\"").decode(Data.self) }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "\"2024-02-30T00:00:00Z\"").decode(Date.self) }
        #expect(try JSONValue(parsing: "9007199254740993").decode(Double.self) == 9_007_199_254_740_992)
        #expect(try JSONValue(parsing: "340282366920938463463374607431768211455").decode(UInt128.self) == .max)
        #expect(try JSONValue(parsing: "0.1").decode(Float.self) == 0.1)
        #expect(try JSONValue(parsing: "null").decode(Int?.self) == nil)
        #expect(try JSONValue(parsing: "null").decode(JSONValue.self) == .null)
        #expect(try JSONValue(parsing: "[1,null]").decode([Int?].self) == [1, nil])
        #expect(try JSONValue(parsing: #"{"a":1}"#).decode(JSONObject.self) == ["a": 1])
        #expect(try JSONValue(parsing: "1.50").decode(JSONNumber.self).text == "1.50")
    }

    @Test(arguments: [
        (#""http://h.example/items?filter[name]=a%20b""#, "http://h.example/items?filter%5Bname%5D=a%20b"),
        (#""/a%2Fb|c#d""#, "/a%2Fb%7Cc#d"), (#""mailto:a%20b@c.example""#, "mailto:a%20b@c.example"),
    ])
    func escapesOfAURLAreKept(text: String, url: String) throws {
        #expect(try JSONValue(parsing: text).decode(URL.self).absoluteString == url)
        #expect(throws: DecodingError.self) { try JSONValue.string("").decode(URL.self) }
    }

    @Test func errorsCarryTheCodingPath() throws {
        let value: JSONValue = ["a": [["b": 1], ["b": "x"]]]
        let error = try #require(throws: DecodingError.self) { try value.decode([String: [[String: Int]]].self) }
        guard case .typeMismatch(_, let context) = error else { throw Unexpected(error) }
        #expect(context.codingPath.map(\.stringValue) == ["a", "Index 1", "b"])
        struct Needs: Decodable { var x: Int }
        let missing = try #require(throws: DecodingError.self) { try JSONValue(parsing: "{}").decode(Needs.self) }
        guard case .keyNotFound(let key, _) = missing else { throw Unexpected(missing) }
        #expect(key.stringValue == "x")
        let null = try #require(throws: DecodingError.self) { try (["x": nil] as JSONValue).decode(Needs.self) }
        guard case .valueNotFound = null else { throw Unexpected(null) }
    }

    private struct ByHand: Decodable, Equatable {
        var list: [String] = []
        var inner = 0
        var base = ""

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: JSONCodingKey.self)
            var items = try container.nestedUnkeyedContainer(forKey: JSONCodingKey(stringValue: "list"))
            while !items.isAtEnd {
                if try items.decodeNil() {
                    list.append("null")
                } else if let number = try? items.decode(Int.self) {
                    list.append("\(number)")
                } else if let nested = try? items.nestedContainer(keyedBy: JSONCodingKey.self) {
                    list.append(nested.allKeys.map(\.stringValue).joined())
                } else if var nested = try? items.nestedUnkeyedContainer() {
                    list.append("\(try nested.decode(Bool.self))")
                } else {
                    list.append(try String(from: items.superDecoder()))
                }
            }
            let object = try container.nestedContainer(
                keyedBy: JSONCodingKey.self,
                forKey: JSONCodingKey(stringValue: "object")
            )
            inner = try object.decode(Int.self, forKey: JSONCodingKey(stringValue: "n"))
            base = try String(from: container.superDecoder())
        }
    }

    @Test func everyContainerReadsItsPlace() throws {
        let value = try JSONValue(
            parsing: #"{"list":[1,null,{"b":1,"a":2},[true],"s"],"object":{"n":5},"super":"base"}"#
        )
        let model = try value.decode(ByHand.self)
        #expect(model.list == ["1", "null", "ba", "true", "s"])
        #expect(model.inner == 5)
        #expect(model.base == "base")
    }

    @Test func decodingBeyondTheEndIsAnError() throws {
        struct Two: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                _ = try container.decode(Int.self)
            }
        }
        #expect(throws: DecodingError.self) { try ([1] as JSONValue).decode(Two.self) }
        #expect(throws: Never.self) { try ([1, 2] as JSONValue).decode(Two.self) }
    }
}
