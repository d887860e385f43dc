import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ParametersTests {
    private func query(_ parameters: Parameters) async throws -> String? {
        try await Rig().agent.plan(for: GeneralRequest("/x").parameters(parameters)).request.url.query()
    }

    private func json(_ parameters: Parameters) async throws -> String {
        try await Rig().wire(GeneralRequest("/x").method(.post).parameters(parameters)).bodyText()
    }

    @Test func literalsTakeVariablesOfAnyEncodableType() async throws {
        let (page, name, flag, ratio) = (2, "a b", true, 0.5)
        let (some, none): (Int?, String?) = (7, nil)
        let date = Date(timeIntervalSince1970: 0)
        let found = try await query([
            "page": page, "name": name, "flag": flag, "ratio": ratio, "some": some, "none": none, "tags": ["x", "y"],
            "date": date, "url": URL(string: "https://a.example/b"),
        ])
        let start = "page=2&name=a%20b&flag=true&ratio=0.5&some=7&tags%5B%5D=x&tags%5B%5D=y"
        #expect(found == start + "&date=1970-01-01T00%3A00%3A00Z&url=https%3A%2F%2Fa.example%2Fb")
    }

    @Test func repeatedNamesKeepTheirOrderInAQueryAndAForm() async throws {
        let none: Int? = nil
        let repeated = Parameters(pairs: [("a", 1), ("b", "x"), ("a", 3), ("c", none), ("a", [4])])
        #expect(repeated.names == ["a", "b", "a", "a"])
        #expect(try await query(repeated) == "a=1&b=x&a=3&a%5B%5D=4")
        let form = GeneralRequest("/x").method(.post).parameters(repeated).parameterEncoding(.form)
        #expect(try await Rig().wire(form).bodyText() == "a=1&b=x&a=3&a%5B%5D=4")
        let rig = Rig(config: .test { $0.parameters = ["z": 0, "a": 9, "y": 8] })
        let plan = try await rig.agent.plan(for: GeneralRequest("/x").parameters(repeated))
        #expect(plan.request.url.query() == "z=0&a=1&a=3&a%5B%5D=4&y=8&b=x")
    }

    @Test func repeatedNamesThatAFormatCannotRepresentAreRejected() async throws {
        let repeated = Parameters(pairs: [("a", 1), ("a", 2)])
        for encoding in [ParameterEncoding.json, .propertyList] {
            let request = GeneralRequest("/x").method(.post).parameters(repeated).parameterEncoding(encoding)
            let error = await #expect(throws: NetworkError.self) { try await Rig().agent.send(request) }
            #expect(error?.description.contains("the parameter 'a' is repeated") == true)
        }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(repeated) }
    }

    /// `String` takes both spellings for equal.
    @Test func namesThatUnicodeCallsEqualAreTwoMembers() async throws {
        let (composed, combined) = ("\u{E9}", "e\u{301}")
        var both: Parameters = [composed: 1, combined: 2]
        #expect(try await query(both) == "%C3%A9=1&e%CC%81=2")
        #expect(try await json(both).utf8.elementsEqual("{\"\(composed)\":1,\"\(combined)\":2}".utf8))
        struct Coded: Encodable, Sendable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                try container.encode(1, forKey: Name(stringValue: "\u{E9}"))
                try container.encode(2, forKey: Name(stringValue: "e\u{301}"))
            }
            struct Name: CodingKey {
                let stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
        }
        #expect(try JSONValue(encoding: Coded()).object?.count == 2)
        both[combined] = nil
        #expect(both.names == [composed] && both[combined] == nil && both[composed] as? Int == 1)
        let rig = Rig(config: .test { $0.parameters = [composed: 0] })
        let plan = try await rig.agent.plan(for: GeneralRequest("/x").parameters([combined: 3]))
        #expect(plan.request.url.query() == "%C3%A9=0&e%CC%81=3")
        let list = GeneralRequest("/x").method(.post).parameters([composed: 1, combined: 2])
        let error = await #expect(throws: NetworkError.self) {
            try await Rig().agent.send(list.parameterEncoding(.propertyList))
        }
        #expect(error?.description.contains("is repeated") == true)
    }

    @Test func settingARepeatedNameReplacesAllOfItsValues() {
        var parameters = Parameters(pairs: [("b", 0), ("a", 1), ("c", 5), ("a", 2)])
        parameters["a"] = 7
        #expect(parameters.names == ["b", "a", "c"] && parameters["a"] as? Int == 7)
        parameters["a"] = nil
        #expect(parameters.names == ["b", "c"])
    }

    struct Inner: Encodable, Sendable {
        var a: Int?
        var b: [Int?] = []
        var c: [String: String?] = [:]
        var `self`: [Inner] = []
    }

    @Test func nilIsNotSentAtAnyDepth() async throws {
        let none: Int? = nil
        let twice: Int?? = .some(nil)
        #expect(try await json(["a": none, "b": 1]) == #"{"b":1}"#)
        #expect(try await json(["a": twice, "b": 1]) == #"{"b":1}"#)
        #expect(try await json(["a": ["x": nil, "y": 1] as [String: Int?]]) == #"{"a":{"y":1}}"#)
        #expect(try await json(["a": [1, nil, 3] as [Int?]]) == #"{"a":[1,3]}"#)
        #expect(try await json(["a": [["x": nil, "y": 1]] as [[String: Int?]]]) == #"{"a":[{"y":1}]}"#)
        #expect(try await json(["a": ["k": [nil, 1]] as [String: [Int?]]]) == #"{"a":{"k":[1]}}"#)
        let inner = Inner(b: [nil, 2], c: ["x": nil, "y": "z"], self: [Inner(a: 1)])
        #expect(
            try await json(["a": inner]) == #"{"a":{"b":[2],"c":{"y":"z"},"self":[{"a":1,"b":[],"c":{},"self":[]}]}}"#
        )
        #expect(try await query(["a": none]) == nil)
    }

    @Test func aJSONNullIsKept() async throws {
        let value: JSONValue = ["n": nil, "l": [nil, 1]]
        #expect(try await json(["a": JSONValue.null, "b": value]) == #"{"a":null,"b":{"n":null,"l":[null,1]}}"#)
        #expect(try await json(["a": ["k": JSONValue.null]]) == #"{"a":{"k":null}}"#)
        #expect(try await query(["a": JSONValue.null]) == "a=")
        let optional: JSONValue? = .some(.null)
        #expect(try await json(["a": optional]) == #"{"a":null}"#)
    }

    @Test func literalsNest() async throws {
        let inner: Parameters = ["d": 2, "e": Int?.none, "f": ["g": true] as Parameters]
        #expect(try await json(["a": 1, "c": inner]) == #"{"a":1,"c":{"d":2,"f":{"g":true}}}"#)
        #expect(try await query(["c": inner]) == "c%5Bd%5D=2&c%5Bf%5D%5Bg%5D=true")
    }

    @Test func orderIsKeptAndDictionariesAreSorted() async throws {
        #expect(try await query(["b": 1, "a": 2, "c": ["z": 1, "y": 2]]) == "b=1&a=2&c%5By%5D=2&c%5Bz%5D=1")
        #expect(Parameters(["b": 1, "a": 2, "c": 3]).names == ["a", "b", "c"])
    }

    @Test func theLastOfEqualNamesWinsInThePlaceOfTheFirst() async throws {
        #expect(try await query(["a": 1, "b": 2, "a": 3]) == "a=3&b=2")
        #expect(try await query(["a": 1, "b": 2, "a": nil]) == "b=2")
    }

    @Test func valuesAreReadAndWrittenByName() {
        var parameters: Parameters = ["a": 1]
        #expect(parameters["a"] as? Int == 1)
        parameters["b"] = "x"
        parameters["a"] = 2
        #expect(parameters.names == ["a", "b"])
        parameters["a"] = nil
        parameters["b"] = Int?.none
        #expect(parameters.isEmpty)
        #expect(parameters["missing"] == nil)
    }

    @Test func aValueGivesItsMembers() async throws {
        let parameters = try Parameters(encoding: Inner(a: 1))
        #expect(parameters.names == ["a", "b", "c", "self"])
        #expect(parameters["a"] as? JSONValue == 1)
        #expect(try await query(parameters) == "a=1")
    }

    @Test func valueThatIsNoObjectHasNoParameters() {
        expect(throwing: .parametersNotAnObject(1)) { _ = try Parameters(encoding: 1) }
        expect(throwing: .parametersNotAnObject([1])) { _ = try Parameters(encoding: [1]) }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func nonFiniteNumbersAreAnErrorWithTheirPath(number: Double) async throws {
        let rig = Rig()
        let request = GeneralRequest("/x").parameters(["a": ["b": number]])
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        guard case .unencodable(let text) = error.reason else { throw Unexpected(error) }
        #expect(text.contains("b"))
        #expect(rig.transport.requestCount == 0)
    }

    struct Failing: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws { throw Boom(id: 9) }
    }

    @Test func errorOfAValueReachesTheCallerUnchanged() async {
        let rig = Rig()
        await #expect(throws: Boom(id: 9)) {
            try await rig.agent.send(GeneralRequest("/x").parameters(["a": [Failing()]]))
        }
        await #expect(throws: Boom(id: 9)) {
            try await rig.agent.send(GeneralRequest("/x").method(.post).body(.json(Failing())))
        }
        #expect(rig.transport.requestCount == 0)
    }
}
