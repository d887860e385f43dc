import Foundation
import Testing

@testable import Errand

/// A decoder of our own reads what `JSONDecoder` reads, and rejects what it rejects, in the same way.
@Suite struct ModelDifferentialTests {
    /// Decodes a text with both decoders, and returns how they differ, or `nil`.
    private struct Model {
        let name: String
        let texts: [String]
        let difference: (Data) -> String?

        // Unordered is a model with a dictionary, of which Foundation reads any member first.
        init<T: Decodable & Equatable>(_ type: T.Type, isUnordered: Bool = false, _ texts: String...) {
            name = "\(type)"
            self.texts = texts
            difference = { data in
                let foundation = JSONDecoder()
                foundation.dateDecodingStrategy = .iso8601
                let expected = Result { try foundation.decode(type, from: data) }
                let found = Result { try LosslessJSONDecoder().decode(type, from: data) }
                switch (found, expected) {
                case (.success(let found), .success(let expected)):
                    guard found == expected else { return "\(found), not \(expected)" }
                    return Self.differenceOfTexts(found)
                case (.failure(let found), .failure(let expected)):
                    let (found, expected) = (Failure(found), Failure(expected))
                    return isUnordered || found.isLike(expected) ? nil : "\(found), not \(expected)"
                case (.success(let found), .failure(let expected)): return "\(found), not \(expected)"
                case (.failure(let found), .success(let expected)):
                    // Foundation reads years of three digits, and rounds 1e-400 to the integer 0.
                    return Failure(found).path == "date" || "\(found)".contains("UnfitNumber")
                        ? nil : "\(found), not \(expected)"
                }
            }
        }

        /// How the texts that both encoders write of a value are read, if that differs, or `nil`.
        private static func differenceOfTexts<T: Decodable & Equatable>(_ value: T) -> String? {
            guard let encodable = value as? any Encodable else { return nil }
            let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
            (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.iso8601, .iso8601)
            let texts = [
                Result { try LosslessJSONEncoder().encode(encodable) }, Result { try encoder.encode(encodable) },
            ]
            let read = texts.map { text in (try? text.get()).flatMap { try? decoder.decode(T.self, from: $0) } }
            return read[0] == read[1] ? nil : "\(texts[0]), not \(texts[1])"
        }
    }

    /// The case of an error, and where it is.
    private struct Failure: CustomStringConvertible {
        let kind: String
        let path: String
        let error: any Error

        init(_ error: any Error) {
            var context: DecodingError.Context?
            switch error {
            case DecodingError.typeMismatch(_, let own): (kind, context) = ("typeMismatch", own)
            case DecodingError.valueNotFound(_, let own): (kind, context) = ("valueNotFound", own)
            case DecodingError.keyNotFound(let key, let own): (kind, context) = ("keyNotFound \(key.stringValue)", own)
            case DecodingError.dataCorrupted(let own): (kind, context) = ("dataCorrupted", own)
            // What is not JSON.
            default: kind = "dataCorrupted"
            }
            path = (context?.codingPath ?? []).map(\.stringValue).joined(separator: ".")
            self.error = error
        }

        /// Foundation does not say where a number is that does not fit, and takes null for another type than a Boolean.
        func isLike(_ other: Failure) -> Bool {
            if kind == "dataCorrupted", other.kind == kind, other.path.isEmpty { return true }
            let isNullFlag =
                kind == "valueNotFound" && other.kind == "typeMismatch" && "\(other.error)".contains("Bool")
            return path == other.path && (kind == other.kind || isNullFlag)
        }

        var description: String { "\(kind) at \(path): \(error)" }
    }

    private struct Empty: Codable, Equatable {}

    private struct Plain: Codable, Equatable {
        let id: Int
        let name: String
        let isOn: Bool
        let ratio: Double
        let small: Int8?
        let wide: UInt64?
    }

    private struct Nested: Codable, Equatable {
        struct Inner: Codable, Equatable {
            let x: Float
            let list: [String?]
        }
        let first: Inner
        let rest: [Inner]
        let byName: [String: Inner]
        let maybe: Inner?
    }

    private enum Color: String, Codable, CaseIterable {
        case red
        case green = "g"
        case blue
    }

    private enum Event: Codable, Equatable {
        case text(String)
        case point(x: Int, y: Int)
        case nothing
    }

    private struct Kinds: Codable, Equatable {
        let color: Color
        let colors: [Color]
        let event: Event?
        let number: [Int: String]
        let set: Set<Int>
        let date: Date?
        let data: Data?
        let uuid: UUID?
        let decimal: Decimal?
    }

    private struct Manual: Decodable, Equatable {
        enum CodingKeys: String, CodingKey {
            case a
            case b = "b b"
            case list, extra
        }
        var a = 0
        var b: String?
        var list: [Int] = []
        var names: [String] = []

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            names = container.allKeys.map(\.stringValue).sorted()
            b = try container.decodeIfPresent(String.self, forKey: .b)
            if container.contains(.a), try !container.decodeNil(forKey: .a) {
                a = try container.decode(Int.self, forKey: .a)
            }
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            while !list.isAtEnd {
                if try list.decodeNil() { continue }
                if let number = try? list.decode(Int.self) {
                    self.list.append(number)
                } else {
                    _ = try list.decode(String.self)
                }
            }
            let extra = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .extra)
            a += try extra.decode(Int.self, forKey: .a)
        }
    }

    private class Base: Decodable {
        let base: Int
    }

    private final class Derived: Base, Equatable {
        let own: String
        enum CodingKeys: CodingKey { case own }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            own = try container.decode(String.self, forKey: .own)
            try super.init(from: container.superDecoder())
        }

        static func == (left: Derived, right: Derived) -> Bool { left.own == right.own && left.base == right.base }
    }

    private struct Many: Codable, Equatable {
        let k00: Int?, k01: Int?, k02: Int?, k03: Int?, k04: Int?, k05: Int?, k06: Int?, k07: Int?, k08: Int?, k09: Int?
        let k10: Int?, k11: Int?, k12: Int?, k13: Int?, k14: Int?, k15: Int?, k16: Int?, k17: Int?, k18: Int?, k19: Int
    }

    private static let many =
        "{" + (0..<20).map { #""k\#($0 < 10 ? "0" : "")\#($0)":\#($0)"# }.joined(separator: ",") + "}"

    private static var models: [Model] {
        [
            Model(
                Plain.self,
                #"{"id":7,"name":"Ada","isOn":true,"ratio":0.25,"small":-3,"wide":18446744073709551615}"#
            ),
            Model(
                Nested.self,
                isUnordered: true,
                #"{"first":{"x":1.5,"list":["a",null]},"rest":[{"x":2,"list":[]}],"byName":{"k":{"x":3,"list":["b"]}}}"#
            ),
            Model(
                Kinds.self,
                isUnordered: true,
                #"{"color":"red","colors":["g","blue"],"event":{"point":{"x":1,"y":2}},"number":{"1":"a"},"set":[1,2],"#
                    + #""date":"2024-05-01T12:00:00Z","data":"AQI=","uuid":"7B4C8F0E-1B2C-4D5E-8F90-0123456789AB","decimal":0.1}"#,
                #"{"color":"blue","colors":[],"event":{"text":{"_0":"t"}},"number":{},"set":[]}"#,
                #"{"color":"blue","colors":[],"event":{"nothing":{}},"number":{},"set":[],"date":null}"#
            ),
            Model(Manual.self, #"{"a":1,"b b":"x","list":[1,null,"t"],"extra":{"a":2,"b":3}}"#),
            Model(Derived.self, #"{"own":"x","super":{"base":1}}"#),
            Model(Many.self, many),
            Model([Int].self, "[1,2,3]"), Model([Double].self, "[1,2.5,-3e2]"), Model([UInt8?].self, "[1,null,255]"),
            Model([Empty].self, "[{},{}]"), Model([Empty?].self, "[{},null]"), Model([[String]].self, #"[["a"],[]]"#),
            Model([Plain].self, #"[{"id":1,"name":"","isOn":false,"ratio":1}]"#),
            Model([String: [Int]].self, isUnordered: true, #"{"a":[1],"b":[]}"#),
            Model([String: String?].self, isUnordered: true, #"{"a":null,"b":"c"}"#),
            Model([Color].self, #"["red","g"]"#), Model(Int?.self, "1"), Model(String.self, #""text""#),
            Model(Bool.self, "true"),
            Model([Float].self, "[0.1,16777217,1e10]"),
            Model([Int64].self, "[9223372036854775807,-9223372036854775808]"),
            Model([Decimal].self, "[0.1,12345678901234567890]"),
            Model([String: Event].self, isUnordered: true, #"{"a":{"nothing":{}}}"#),
            Model([Int8].self, "[-128,127]"), Model([UInt16?].self, "[65535,null]"),
            Model([[Int?]].self, "[[1,null],[]]"),
            Model([Bool?].self, "[true,null]"), Model([String?].self, #"["a",null]"#),
            Model([Color?].self, #"["g",null]"#),
            Model([Event].self, #"[{"text":{"_0":"t"}},{"nothing":{}}]"#), Model(Decimal?.self, "1.10"),
            Model([Int16].self, "[-32768]"), Model([Data].self, #"["AQI="]"#),
            Model([UUID?].self, #"["7B4C8F0E-1B2C-4D5E-8F90-0123456789AB"]"#), Model(Float.self, "0.1"),
            Model(Double?.self, "1e5"), Model(UInt64.self, "18446744073709551615"), Model([Plain?].self, "[null]"),
            Model([Int: [Bool]].self, isUnordered: true, #"{"1":[true],"x":[]}"#), Model([Many?].self, "[\(many)]"),
            Model([String: [String: Int]].self, isUnordered: true, #"{"a":{"b":1}}"#), Model([Derived].self, "[]"),
            Model(Set<String>.self, #"["a","b"]"#),
        ]
    }

    private static let replacements = [
        "null", "true", "false", "0", "-1", "1.0", "1.5", "1e2", "300", "-0", "128", "4294967296", "9007199254740993",
        "9223372036854775808", "1e400", "\"\"", "\"red\"", "\"1\"", "\"\\u00e9\\n\"", "[]", "{}", "[null]", "{\"a\":1}",
        "0.1e-2",
        "0.30000000000000004", "123456789012345678901234567890",
    ]

    /// Changes a valid text: another value, a member less, twice, in another place, or under another name, spaces.
    private static func mutated(_ text: String, _ random: inout some RandomNumberGenerator) -> String {
        guard var tree = try? JSONValue(parsing: text) else { return text }
        for _ in 0..<Int.random(in: 0...2, using: &random) { tree = changed(tree, &random) }
        var result = tree.description
        if Int.random(in: 0..<20, using: &random) == 0 {
            let index = result.index(result.startIndex, offsetBy: Int.random(in: 0..<result.count, using: &random))
            result.remove(at: index)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { result = result.replacing(",", with: " ,\n\t") }
        return result
    }

    private static func changed(_ value: JSONValue, _ random: inout some RandomNumberGenerator) -> JSONValue {
        let isDeeper = Int.random(in: 0..<4, using: &random) > 0
        switch value {
        case .object(let object) where isDeeper && !object.names.isEmpty:
            var members = object.map { ($0.name, $0.value) }
            let place = Int.random(in: 0..<members.count, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: members.remove(at: place)
            case 1: members.append((members[place].0, changed(members[place].1, &random)))
            case 2: members.shuffle(using: &random)
            case 3: members[place].0 += "x"
            case 4: members.insert(("unknown", members[place].1), at: place)
            default: members[place].1 = changed(members[place].1, &random)
            }
            return .object(JSONObject(members.map { (name: $0.0, value: $0.1) }))
        case .array(var elements) where isDeeper && !elements.isEmpty:
            let place = Int.random(in: 0..<elements.count, using: &random)
            if Bool.random(using: &random) { elements.append(elements[place]) }
            elements[place] = changed(elements[place], &random)
            return .array(elements)
        default:
            let text = replacements.randomElement(using: &random) ?? "null"
            return (try? JSONValue(parsing: text)) ?? .null
        }
    }

    @Test func mutatedDocumentsAreReadAsByFoundation() {
        let count = ProcessInfo.processInfo.environment["ERRAND_PAIRS"].flatMap { Int($0) } ?? 100_000
        var random = SeededGenerator()
        var differences: [String: String] = [:]
        let models = Self.models
        for _ in 0..<count {
            guard let model = models.randomElement(using: &random),
                let text = model.texts.randomElement(using: &random)
            else { return }
            let mutated = Self.mutated(text, &random)
            // Foundation rejects what is too small for a Float, which is 0 in ours.
            if mutated.contains(/e-?\d{4}/) { continue }
            // Foundation does not look at all of a text.
            if (try? JSONValue(parsing: mutated)) == nil { continue }
            if let difference = model.difference(Data(mutated.utf8)), differences.count < 20 {
                differences["\(model.name): \(difference.prefix(300))"] = mutated
            }
        }
        #expect(differences.isEmpty, "\(differences.map { "\($0)\n    \($1)" }.joined(separator: "\n"))")
    }
}
