import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct LosslessJSONDecoderTests {
    private func decode<T: Decodable>(
        _ type: T.Type,
        _ text: String,
        _ change: (inout LosslessJSONDecoder) -> Void = { _ in }
    ) throws -> T {
        var decoder = LosslessJSONDecoder()
        change(&decoder)
        return try decoder.decode(type, from: Data(text.utf8))
    }

    // MARK: Scalars

    private enum Level: Int, Decodable { case low = 1 }

    private struct Mixed: Decodable, Equatable {
        let int: Int
        let double: Double?
        let decimal: Decimal
        let text: String
        let flag: Bool
        let numbers: [UInt8]
        let table: [String: Int]
    }

    private let mixed = #"""
        {"int":"12","double":"1.5e3","decimal":"0.10","text":1.50,"flag":"TRUE","numbers":["1",2],"table":{"a":"-0"}}
        """#

    @Test func scalarsAreConvertedToTheRequestedType() throws {
        #expect(throws: DecodingError.self) { try decode(Mixed.self, mixed) }
        let found = try decode(Mixed.self, mixed) { $0.convertsScalars = true }
        let decimal = try #require(Decimal(string: "0.10"))
        #expect(
            found
                == Mixed(
                    int: 12,
                    double: 1500,
                    decimal: decimal,
                    text: "1.50",
                    flag: true,
                    numbers: [1, 2],
                    table: ["a": 0]
                )
        )
        #expect(try decode(Level.self, #""1""#) { $0.convertsScalars = true } == .low)
    }

    @Test(arguments: ["1", #""1""#, #""true""#, #""True""#, "true", "1.0"])
    func valuesThatMeanTrueAreTrue(text: String) throws {
        #expect(try decode(Bool.self, text) { $0.convertsScalars = true })
    }

    @Test(arguments: ["0", #""0""#, #""false""#, "false", "-0", "0e5"])
    func valuesThatMeanFalseAreFalse(text: String) throws {
        #expect(try decode(Bool.self, text) { $0.convertsScalars = true } == false)
    }

    @Test(arguments: ["2", #""yes""#, #""""#, "null", "[1]", "1.5", #""1.0""#])
    func nothingElseIsABool(text: String) {
        #expect(throws: DecodingError.self) { try decode(Bool.self, text) { $0.convertsScalars = true } }
    }

    @Test(arguments: [
        #""""#, #"" 1""#, #""1 ""#, #""+1""#, #""01""#, #""1,000""#, #""0x10""#, #""1.5""#, #""NaN""#, #""12a""#,
        "true",
        #""99999999999999999999""#, "1.5", "null", "[1]", "{}",
    ])
    func lossyIntegerConversionIsAnError(text: String) {
        #expect(throws: DecodingError.self) { try decode(Int.self, text) { $0.convertsScalars = true } }
    }

    @Test(arguments: [("12", "12"), ("1.50", "1.50"), ("1e2", "1e2"), ("true", "true"), (#""x""#, "x")])
    func textOfAScalarIsAsItIsWritten(text: String, expected: String) throws {
        #expect(try decode(String.self, text) { $0.convertsScalars = true } == expected)
        if text.first != "\"" { #expect(throws: DecodingError.self) { try decode(String.self, text) } }
    }

    @Test func nullAndContainersAreNotConverted() {
        for text in ["null", "[]", "{}"] {
            #expect(throws: DecodingError.self) { try decode(String.self, text) { $0.convertsScalars = true } }
        }
    }

    // MARK: Nulls

    @Test func nullMembersCanBeDropped() throws {
        let text = #"{"a":null,"b":{"c":null,"d":[null,{"e":null}]},"f":1}"#
        #expect(try decode(JSONValue.self, text) { $0.dropsNulls = true } == ["b": ["d": [nil, [:]]], "f": 1])
        #expect(try decode([String: Int].self, #"{"a":null,"b":1}"#) { $0.dropsNulls = true } == ["b": 1])
        #expect(throws: DecodingError.self) { try decode([String: Int].self, #"{"a":null,"b":1}"#) }
        let error = #expect(throws: DecodingError.self) {
            try decode(Mixed.self, #"{"int":null}"#) { $0.dropsNulls = true }
        }
        guard case .keyNotFound = error else { throw Unexpected(error) }
    }

    // MARK: JSON in strings

    private struct Order: Decodable, Equatable {
        struct Item: Decodable, Equatable { let id: Int }
        let item: Item
        let tags: [String]
        let raw: String
    }

    @Test func jsonInAStringIsDecodedAsAStructure() throws {
        let text = #"{"item":"{\"id\":7}","tags":"[\"a\",\"[]\"]","raw":"{\"id\":8}"}"#
        #expect(throws: DecodingError.self) { try decode(Order.self, text) }
        let order = try decode(Order.self, text) { $0.readsJSONInStrings = true }
        #expect(order == Order(item: .init(id: 7), tags: ["a", "[]"], raw: #"{"id":8}"#))
        #expect(try decode(JSONObject.self, #""{\"a\":1}""#) { $0.readsJSONInStrings = true } == ["a": 1])
        #expect(try decode(JSONValue.self, #""{}""#) { $0.readsJSONInStrings = true } == "{}")
    }

    @Test(arguments: [#""""#, #""{""#, #""7""#, #""[]""#, #""{\"id\":7} x""#])
    func stringWithoutAnObjectIsAnError(text: String) {
        #expect(throws: DecodingError.self) { try decode(Order.Item.self, text) { $0.readsJSONInStrings = true } }
    }

    @Test func hostileTextInAStringIsAnError() {
        let deep = "\"" + String(repeating: "[", count: 600) + "\""
        #expect(throws: DecodingError.self) { try decode([[Int]].self, deep) { $0.readsJSONInStrings = true } }
    }

    // MARK: Keys and dates

    private struct Person: Decodable, Equatable {
        let firstName: String
        let homeURL: Int?
        let homeUrl: Int?
        let extras: [String: Int]
    }

    @Test func snakeCaseMembersAreForCamelCaseProperties() throws {
        let text = #"{"first_name":"Ada","home_url":1,"extras":{"a_b":2}}"#
        let person = try decode(Person.self, text) { $0.keys = .snakeCase }
        #expect(person == Person(firstName: "Ada", homeURL: nil, homeUrl: 1, extras: ["a_b": 2]))
        let upper = try decode(Person.self, #"{"FIRSTNAME":"Ada","EXTRAS":{}}"#) {
            $0.keys = .converted { $0 == "FIRSTNAME" ? "firstName" : $0.lowercased() }
        }
        #expect(upper.firstName == "Ada")
    }

    @Test(arguments: [
        "a", "a_b", "_a_b", "a_b_", "__a__b__", "a__b", "A_B", "A_b", "aB_cD", "URL", "my_URL", "my_url2_x", "_", "__",
        "", "_a", "A", "first_2nd", "é_ü", "a_ß", "x_1_y",
    ])
    func namesAreConvertedAsFoundationDoes(name: String) throws {
        struct AnyKey: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Names: Decodable {
            let names: [String]
            init(from decoder: any Decoder) throws {
                names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
            }
        }
        let text = JSONValue.object([name: 1]).data
        let foundation = JSONDecoder()
        foundation.keyDecodingStrategy = .convertFromSnakeCase
        var own = LosslessJSONDecoder()
        own.keys = .snakeCase
        #expect(try own.decode(Names.self, from: text).names == foundation.decode(Names.self, from: text).names)
    }

    @Test func datesFollowTheirStrategy() throws {
        let date = Date(timeIntervalSince1970: 1_714_564_800)
        #expect(try decode(Date.self, #""2024-05-01T12:00:00Z""#) == date)
        #expect(try decode(Date.self, "1714564800") { $0.dates = .secondsSince1970 } == date)
        #expect(try decode(Date.self, "1714564800000") { $0.dates = .millisecondsSince1970 } == date)
        #expect(throws: DecodingError.self) {
            try decode(Date.self, #""1714564800""#) { $0.dates = .secondsSince1970 }
        }
        let converted = try decode(Date.self, #""1714564800""#) {
            $0.dates = .secondsSince1970
            $0.convertsScalars = true
        }
        #expect(converted == date)
    }

    // MARK: In requests

    private struct Loose: Decodable, Sendable, Equatable { let userId: Int }

    @Test func configServiceAndFormatterCanUseIt() async throws {
        var decoder = LosslessJSONDecoder()
        decoder.keys = .snakeCase
        decoder.convertsScalars = true
        let (json, loose) = (TransportResponse.json(#"{"user_id":"7"}"#), Loose(userId: 7))
        let configured = Rig(config: .test { [decoder] in $0.decoder = decoder }, response: json)
        #expect(try await configured.agent.send(GeneralRequest("/x").expecting(Loose.self)) == loose)
        var service = Service(id: "s")
        service.decoder = decoder
        let request = GeneralRequest("/x").service(service).expecting(Loose.self)
        #expect(try await Rig(response: json).agent.send(request) == loose)
        let formatted = GeneralRequest("/x").formatted(by: JSONFormatter<Loose>(decoder: decoder))
        #expect(try await Rig(response: json).agent.send(formatted) == loose)
    }

    @Test func mismatchIsANetworkErrorWithItsPath() async throws {
        let rig = Rig(config: .test { $0.decoder = LosslessJSONDecoder() }, response: .json(#"{"userId":"7"}"#))
        let error = await failure { try await rig.agent.send(GeneralRequest("/x").expecting(Loose.self)) }
        guard case .model("Loose", let detail) = (error as? NetworkError)?.reason else { throw Unexpected(error) }
        #expect(detail == "expected an integer, found a string at userId")
    }

    /// A decoder of the user's own, with strategies of Foundation's.
    private struct Upper: DataDecoder {
        func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            return try decoder.decode(type, from: Data(String(decoding: data, as: UTF8.self).uppercased().utf8))
        }
    }

    @Test func userDecoderReceivesTheBytesAndMayThrow() async throws {
        let rig = Rig(config: .test { $0.decoder = Upper() }, response: .json(#"{"data":["a"]}"#))
        let request = GeneralRequest("/x").expecting([String].self, at: "data")
        #expect(try await rig.agent.send(request) == ["A"])
        struct Failing: DataDecoder {
            func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { throw Boom(id: 3) }
        }
        let failing = Rig(config: .test { $0.decoder = Failing() }, response: .json("[1]"))
        await #expect(throws: Boom(id: 3)) { try await failing.agent.send(GeneralRequest("/x").expecting([Int].self)) }
    }

    @Test func strategiesOfFoundationsDecoderReachTheModel() async throws {
        struct Event: Decodable, Sendable { let startedAt: Date }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        let rig = Rig(config: .test { [decoder] in $0.decoder = decoder }, response: .json(#"{"started_at":60}"#))
        let event = try await rig.agent.send(GeneralRequest("/x").expecting(Event.self))
        #expect(event.startedAt == Date(timeIntervalSince1970: 60))
    }

    // MARK: Texts in strings, and many errors

    private struct Nest: Decodable {
        let items: [Nest]
        init(from decoder: any Decoder) throws { items = try decoder.singleValueContainer().decode([Nest].self) }
    }

    /// Each text in a string is nested in those around it.
    @Test func textsInStringsAreNestedNoDeeperThanOneText() throws {
        var text = ""
        for _ in 0..<4 {
            let inner = text.replacing("\\", with: "\\u005c").replacing("\"", with: "\\u0022")
            let middle = text.isEmpty ? "" : "\"\(inner)\""
            text = String(repeating: "[", count: 60) + middle + String(repeating: "]", count: 60)
        }
        #expect(throws: DecodingError.self) { try decode(Nest.self, text) { $0.readsJSONInStrings = true } }
    }

    @Test func namesOfADictionaryInAStringAreKept() throws {
        let found = try decode([String: [String: Int]].self, #"{"a_b":"{\"a_b\":2}"}"#) {
            $0.readsJSONInStrings = true
            $0.keys = .snakeCase
        }
        #expect(found == ["a_b": ["a_b": 2]])
    }

    @Test func halfASurrogatePairInATextInAStringIsReplaced() throws {
        #expect(try decode([String].self, #""[\"\\ud83d\"]""#) { $0.readsJSONInStrings = true } == ["\u{FFFD}"])
    }

    @Test func aPayloadDropsNullsFromATree() throws {
        var decoder = LosslessJSONDecoder()
        decoder.dropsNulls = true
        var payload = Payload(Data(#"{"a":null,"b":1}"#.utf8))
        payload.decoder = decoder
        #expect(try payload.decode(JSONValue.self) == ["b": 1])
    }

    private struct Several: Decodable {
        let isInteger: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            isInteger = (try? container.decode(Int.self, forKey: .isInteger)) != nil
            _ = try? container.decode(Int.self, forKey: .other)
            _ = container.codingPath
        }

        enum CodingKeys: CodingKey { case isInteger, other }
    }

    /// A model may try types in turn, and handle the error of each element.
    @Test func errorsTakeTimeInProportionToTheText() {
        expectLinear(500) { count in
            let text = "[" + Array(repeating: #"{"isInteger":"x","c":1}"#, count: count).joined(separator: ",\n") + "]"
            #expect((try? decode([Several].self, text) { _ in })?.count == count)
        }
    }

    private final class Node: Codable {
        let next: Node?
        let list: [Node]?
        let names: [String: Node]?
    }

    /// A thread of libdispatch has 512 KiB.
    @Test(arguments: [#"{"next":"#, #"{"list":["#, #"{"names":{"a":"#])
    func aTextOf128LevelsNeedsNoMoreThanASmallStack(open: String) async throws {
        let (levels, close) = (
            open.hasSuffix("{\"next\":") ? 128 : 64, String(open.compactMap { ["{": "}", "[": "]"][$0] }.reversed())
        )
        let text = String(repeating: open, count: levels - 1) + "{}" + String(repeating: close, count: levels - 1)
        let written: String = try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    with: Result {
                        let node = try LosslessJSONDecoder().decode(Node.self, from: Data(text.utf8))
                        _ = try JSONValue(parsing: text)
                        return String(decoding: try LosslessJSONEncoder().encode(node), as: UTF8.self)
                    }
                )
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(written == text)
    }

    @Test func membersThatNoModelReadsAreNoted() throws {
        struct User: Decodable {
            struct Address: Decodable { let city: String }
            let id: Int
            let addresses: [Address]
            let extra: [String: Int]
        }
        let text =
            #"{"id":1,"new":2,"addresses":[{"city":"K","zip":"5"},{"zip":1,"city":"B"}],"extra":{"a":1},"old":[{}]}"#
        let reads = JSONReads()
        _ = try LosslessJSONDecoder().decode(User.self, from: Data(text.utf8), noting: reads)
        let unread = reads.findings.filter { $0.finding == .unread }
        let paths = unread.map { $0.path.map(\.stringValue).joined(separator: ".") }
        #expect(paths == ["new", "old", "addresses.Index 0.zip", "addresses.Index 1.zip"])
    }

    /// The words of a text that was decoded in vain are not looked for in the next one.
    @Test func whatADecodingThatFailedHasReadIsForgotten() throws {
        struct Item: Decodable { let id: Int }
        let reads = JSONReads()
        let long = "[" + [String](repeating: #"{"id":1,"x":2}"#, count: 1_000).joined(separator: ",") + #",{"id":""}]"#
        #expect(throws: DecodingError.self) {
            try LosslessJSONDecoder().decode([Item].self, from: Data(long.utf8), noting: reads)
        }
        #expect(reads.findings.isEmpty)
        _ = try LosslessJSONDecoder().decode(Item.self, from: Data(#"{"id":1,"new":2}"#.utf8), noting: reads)
        #expect(reads.findings.map { $0.path.map(\.stringValue) } == [["id"], ["new"]])
    }

    @Test func aDateOfAFormatterIsMissingOrOfAnotherTypeAsAnyOther() throws {
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyy"
        func error(_ text: String, _ dates: JSONDateStrategy) throws -> DecodingError {
            try #require(throws: DecodingError.self) { try decode([Date].self, text) { $0.dates = dates } }
        }
        guard case .valueNotFound = try error("[null]", .formatted(formatter)),
            case .typeMismatch = try error("[5]", .formatted(formatter)),
            case .dataCorrupted(let context) = try error(
                #"["x"]"#,
                .custom(
                    JSONFormat {
                        try $0.decode(Date.self)
                    } encoding: { _ in
                        .null
                    }
                )
            )
        else { throw Unexpected("other errors") }
        #expect(context.codingPath.map(\.stringValue) == ["Index 0"])
    }

    @Test func thePlaceOfAMistakeIsThatInTheBody() throws {
        let text = "{\n \"code\": 0,\n \"data\": {\"users\":\n [{\"id\": 1},\n {\"id\": \"x\"}], \"n\": \"y\"}}"
        struct User: Decodable { let id: Int }
        struct All: Decodable { let users: [User] }
        let payload = Payload(Data(text.utf8))
        for _ in 0..<2 {
            for (type, path) in [
                (All.self as any Decodable.Type, "data"), ([User].self, "data.users"), (Int.self, "data.n"),
            ] {
                let error = try #require(throws: NetworkError.self) {
                    _ = try payload.decode(type, at: JSONPath(stringLiteral: path))
                }
                let place = type == Int.self ? "in line 5, column 22 (byte 67)" : "in line 5, column 10 (byte 55)"
                #expect("\(error.underlying as Any)".contains(place), "\(path): \(error.underlying as Any)")
            }
        }
    }

    @Test func mistakesInAnyOrderTakeLinearTime() {
        struct Tried: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: JSONCodingKey.self)
                for key in container.allKeys.reversed() where (try? container.decode(Int.self, forKey: key)) == nil {
                    _ = try container.decode(String.self, forKey: key)
                }
            }
        }
        expectLinear(200) { count in
            let members = (0..<count).map { #""member\#($0)":"value""# }.joined(separator: ",\n")
            #expect(throws: Never.self) { try decode(Tried.self, "{\(members)}") }
        }
    }
}
