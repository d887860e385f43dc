import Testing

@testable import Errand

@Suite struct JSONObjectTests {
    @Test(arguments: [0, 1, 3, 16, 17, 18, 100])
    func membersKeepTheirOrderAndAreFoundByName(count: Int) {
        let names = (0..<count).map { "name\($0 * 7 % 101)" }
        var object = JSONObject()
        for (index, name) in names.enumerated() { object.append(name, .number(JSONNumber(index))) }
        #expect(object.names == names)
        #expect(object == JSONObject(names.enumerated().map { ($0.element, .number(JSONNumber($0.offset))) }))
        for (index, name) in names.enumerated() { #expect(object[name]?.int == index) }
        #expect(object["other"] == nil)
        #expect(object.count == count)
    }

    @Test(arguments: [0, 30])
    func firstOfRepeatedMembersIsFoundAndBothAreKept(others: Int) {
        let members: [JSONObject.Element] = (0..<others).map { ("other\($0)", .null) } + [("a", 1), ("b", 2), ("a", 3)]
        var object = JSONObject(members)
        #expect(object["a"] == 1)
        #expect(object.count == others + 3)
        object["a"] = 4
        #expect(object.names.suffix(2) == ["a", "b"])
        #expect(object["a"] == 4)
        object["a"] = nil
        #expect(object["a"] == nil)
        #expect(object.count == others + 1)
        object["c"] = .null
        #expect(object["c"] == .null)
        object["d"] = nil
        #expect(object.count == others + 2)
    }

    @Test func namesAreComparedByteByByte() {
        let object: JSONObject = ["\u{E9}": 1, "e\u{301}": 2]
        #expect(object["\u{E9}"] == 1)
        #expect(object["e\u{301}"] == 2)
    }

    @Test func equalityDoesNotDependOnTheOrder() {
        let left: JSONObject = ["a": 1, "b": [2], "c": nil]
        let right: JSONObject = ["c": nil, "a": 1, "b": [2]]
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(left != ["a": 1, "b": [2]])
        #expect(left != ["a": 1, "b": [2], "d": nil])
        #expect(left != ["a": 1, "b": [3], "c": nil])
        let twoOfA: [JSONObject.Element] = [("a", 1), ("a", 1), ("b", 1)]
        let twoOfB: [JSONObject.Element] = [("b", 1), ("a", 1), ("b", 1)]
        #expect(JSONObject(twoOfA) != JSONObject(twoOfB))
    }

    @Test func isACollectionOfNamesAndValues() {
        let object: JSONObject = ["a": 1, "b": 2]
        var seen: [String] = []
        for (name, value) in object { seen.append("\(name)=\(value)") }
        #expect(seen == ["a=1", "b=2"])
        #expect(object[1].name == "b")
        #expect(object.withoutRepetitions.count == 2)
    }
}
