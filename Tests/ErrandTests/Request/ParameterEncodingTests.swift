import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ParameterEncodingTests {
    private func query(_ encoding: ParameterEncoding, _ parameters: Parameters) async throws -> String? {
        let request = GeneralRequest("/x").parameterEncoding(encoding).parameters(parameters)
        return try await Rig().agent.plan(for: request).request.url.query(percentEncoded: false)
    }

    /// Encoding, name of the value in ``values``, text without percent-encoding.
    static let table: [(ParameterEncoding, String, String?)] = [
        (.query, "int", "v=-1"), (.query, "unsigned", "v=18446744073709551615"), (.query, "double", "v=0.25"),
        (.query, "text", "v=a b"), (.query, "empty text", "v="), (.query, "true", "v=true"),
        (.query, "false", "v=false"),
        (.query.booleans(.digits), "true", "v=1"), (.query.booleans(.digits), "false", "v=0"), (.query, "null", "v="),
        (.query, "array", "v[]=1&v[]=2"), (.query.arrays(.indices), "array", "v[0]=1&v[1]=2"),
        (.query.arrays(.repeated), "array", "v=1&v=2"), (.query.arrays(.commas), "array", "v=1,2"),
        (.query, "empty array", nil), (.query.arrays(.indices), "empty array", nil),
        (.query.arrays(.repeated), "empty array", nil), (.query.arrays(.commas), "empty array", nil),
        (.query, "array of arrays", "v[][]=1&v[][]=2&v[][]=3"),
        (.query.arrays(.indices), "array of arrays", "v[0][0]=1&v[0][1]=2&v[1][0]=3"),
        (.query.arrays(.repeated), "array of arrays", "v=1&v=2&v=3"),
        (.query.arrays(.commas), "array of arrays", "v[]=1,2&v[]=3"), (.query, "object", "v[a]=1&v[b]=x"),
        (.query.nesting(.dots), "object", "v.a=1&v.b=x"), (.query, "empty object", nil),
        (.query, "object of objects", "v[a][b]=true"), (.query.nesting(.dots), "object of objects", "v.a.b=true"),
        (.query.nesting(.dots).booleans(.digits), "object of objects", "v.a.b=1"),
        (.query, "array of objects", "v[][a]=1&v[][a]=2"),
        (.query.arrays(.indices), "array of objects", "v[0][a]=1&v[1][a]=2"),
        (.query.arrays(.indices).nesting(.dots), "array of objects", "v[0].a=1&v[1].a=2"),
        (.query.arrays(.repeated).nesting(.dots), "array of objects", "v.a=1&v.a=2"),
        (.query.arrays(.commas), "array of objects", "v[][a]=1&v[][a]=2"),
        (.query, "object of arrays", "v[a][]=1&v[a][]=2"),
        (.query.arrays(.commas).nesting(.dots), "object of arrays", "v.a=1,2"),
        (.query.arrays(.commas).booleans(.digits), "array of flags", "v=1,0"),
        (.query, "date", "v=2024-05-01T12:00:00Z"),
        (.query.dates(.iso8601WithMilliseconds), "date", "v=2024-05-01T12:00:00.250Z"),
        (.query.dates(.secondsSince1970), "date", "v=1714564800.25"),
        (.query.dates(.millisecondsSince1970), "date", "v=1714564800250"),
        (.query.dates(.millisecondsSince1970), "array of dates", "v[]=0"), (.automatic, "array", "v[]=1&v[]=2"),
    ]

    static let values: [String: any Encodable & Sendable] = [
        "int": -1, "unsigned": UInt64.max, "double": 0.25, "text": "a b", "empty text": "", "true": true,
        "false": false,
        "null": JSONValue.null, "array": [1, 2], "empty array": [Int](), "array of arrays": [[1, 2], [3]],
        "object": JSONValue.object(["a": 1, "b": "x"]), "empty object": [String: Int](),
        "object of objects": ["a": ["b": true]], "array of objects": [["a": 1], ["a": 2]],
        "object of arrays": ["a": [1, 2]], "array of flags": [true, false],
        "date": Date(timeIntervalSince1970: 1_714_564_800.25), "array of dates": [Date(timeIntervalSince1970: 0)],
    ]

    @Test(arguments: table)
    func eachStyleWritesEachKindOfValue(encoding: ParameterEncoding, name: String, text: String?) async throws {
        let value = try #require(Self.values[name])
        #expect(try await query(encoding, ["v": value]) == text)
        // A form is written by the same rules.
        let form = ParameterEncoding.form.arrays(encoding.arrays).nesting(encoding.nesting)
            .booleans(encoding.booleans).dates(encoding.dates)
        let post = GeneralRequest("/x").method(.post).body(.form(["v": value], encoding: form))
        #expect(try await Rig().wire(post).bodyText().removingPercentEncoding == text ?? "")
    }

    @Test func bracketsAndCommasAreEncodedWhereTheyAreData() async throws {
        let request = GeneralRequest("/x").parameterEncoding(.query.arrays(.commas))
            .parameters(["a": ["x,y", "z"], "b[": ["c]": "="], "d.e": 1])
        let query = try await Rig().wire(request).url.query()
        #expect(query == "a=x%2Cy,z&b%5B%5Bc%5D%5D=%3D&d.e=1")
    }

    @Test(arguments: [
        (HTTPMethod.get, true), (.head, true), (.delete, true), (.post, false), (.put, false), (.patch, false),
        (.options, false), ("PURGE", false),
    ])
    func automaticPutsParametersWhereTheMethodHasThem(method: HTTPMethod, inQuery: Bool) async throws {
        let request = GeneralRequest("/x").method(method).parameters(["a": 1]).expecting(Void.self)
        let sent = try await Rig().wire(request)
        #expect(sent.url.query() == (inQuery ? "a=1" : nil))
        #expect(try sent.bodyText() == (inQuery ? "" : #"{"a":1}"#))
        #expect(sent.headers["Content-Type"] == (inQuery ? nil : "application/json"))
    }

    @Test func queryPutsParametersIntoTheURLWithAnyMethod() async throws {
        let sent = try await Rig().wire(
            GeneralRequest("/x").method(.post).parameterEncoding(.query).query(["q": 0]).parameters(["a": 1])
        )
        #expect(sent.url.query() == "q=0&a=1")
        #expect(sent.body.byteCount == 0)
        #expect(sent.headers["Content-Type"] == nil)
    }

    @Test func jsonKeepsTypes() async throws {
        let request = GeneralRequest("/x").method(.post).parameterEncoding(.json.dates(.secondsSince1970)).parameters([
            "i": 1, "u": UInt64.max, "d": 0.1, "t": "é\"", "b": true, "n": JSONValue.null, "l": [1], "o": ["k": "v"],
            "e": [Int](), "m": Decimal(string: "12345678901234567890.123"), "date": Date(timeIntervalSince1970: 1.5),
        ])
        let sent = try await Rig().wire(request)
        let expected: JSONValue = [
            "i": 1, "u": .number(JSONNumber(UInt64.max)), "d": 0.1, "t": "é\"", "b": true, "n": nil, "l": [1],
            "o": ["k": "v"], "e": [], "m": .number(try #require(JSONNumber("12345678901234567890.123"))), "date": 1.5,
        ]
        #expect(try JSONValue(parsing: try sent.bodyData()) == expected)
        #expect(sent.headers["Content-Type"] == "application/json")
    }

    @Test func propertyListsKeepTypes() async throws {
        let request = GeneralRequest("/x").method(.post).parameterEncoding(.propertyList).parameters([
            "i": 1, "d": 0.5, "t": "é&<", "b": true, "l": [1, 2], "o": ["k": ["v"]],
            "date": Date(timeIntervalSince1970: 0),
        ])
        let sent = try await Rig().wire(request)
        #expect(sent.headers["Content-Type"] == "application/x-plist")
        let list = try PropertyListSerialization.propertyList(from: try sent.bodyData(), format: nil)
        let object = try #require(list as? [String: Any])
        #expect(object.keys.sorted() == ["b", "d", "date", "i", "l", "o", "t"])
        #expect(object["i"] as? Int == 1)
        #expect(object["d"] as? Double == 0.5)
        #expect(object["t"] as? String == "é&<")
        #expect(object["b"] as? Bool == true)
        #expect(object["l"] as? [Int] == [1, 2])
        #expect(object["o"] as? [String: [String]] == ["k": ["v"]])
        #expect(object["date"] as? String == "1970-01-01T00:00:00Z")
        #expect(try sent.bodyText().contains("<true/>"))
    }

    @Test func propertyListsKeepNumbersThatFit() async throws {
        let exact = try #require(JSONNumber("9.31322574615478515625e-10"))
        let power = try #require(JSONNumber("18446744073709551616"))
        let request = GeneralRequest("/x").method(.post).parameterEncoding(.propertyList).parameters([
            "max": UInt64.max, "min": Int64.min, "tenth": 0.1, "float": Float(0.1), "large": 1e300,
            "price": Decimal(string: "1234.56"), "exact": JSONValue.number(exact), "power": JSONValue.number(power),
            "least": Double.leastNonzeroMagnitude,
        ])
        let sent = try await Rig().wire(request)
        let list = try PropertyListSerialization.propertyList(from: try sent.bodyData(), format: nil)
        let object = try #require(list as? [String: Any])
        #expect(object["max"] as? UInt64 == .max && object["min"] as? Int64 == .min)
        #expect(object["tenth"] as? Double == 0.1 && object["float"] as? Double == 0.1)
        #expect(object["large"] as? Double == 1e300 && object["price"] as? Double == 1234.56)
        #expect(object["exact"] as? Double == 0x1p-30 && object["power"] as? Double == 0x1p64)
        #expect(object["least"] as? Double == .leastNonzeroMagnitude)
        #expect(try sent.bodyText().contains("<integer>18446744073709551615</integer>"))
    }

    @Test(arguments: ["12345678901234567890.123", "18446744073709551617", "0.10000000000000000001", "1e400", "1e-400"])
    func propertyListsRoundNoNumber(text: String) async throws {
        let rig = Rig()
        let number = JSONValue.number(try #require(JSONNumber(text)))
        let request = GeneralRequest("/x").method(.post).parameterEncoding(.propertyList)
            .parameters(["a": ["b": number]])
        await expect(
            throwing: .unencodable("a property list cannot represent the number at a.b exactly; send it as a String")
        ) {
            _ = try await rig.agent.send(request)
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func aPropertyListHasNoNull() async {
        let rig = Rig()
        let request = GeneralRequest("/x").method(.post).parameterEncoding(.propertyList)
            .parameters(["a": ["b": JSONValue.null]])
        await expect(throwing: .unencodable("a property list has no null, at a.b")) {
            _ = try await rig.agent.send(request)
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func encodingsAreValues() {
        #expect(ParameterEncoding.query.arrays(.commas) == .query.arrays(.commas))
        #expect(ParameterEncoding.query.arrays(.commas) != .query)
        #expect(ParameterEncoding.form.format == .form)
    }
}
