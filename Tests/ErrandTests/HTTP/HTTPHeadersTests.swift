import Errand
import Testing

@Suite struct HTTPHeadersTests {
    @Test func orderAndRepeatedNamesAreKept() {
        let headers: HTTPHeaders = ["B": "1", "A": "2", "b": "3"]
        #expect(headers.map(\.name) == ["B", "A", "b"])
        #expect(headers.map(\.value) == ["1", "2", "3"])
    }

    @Test(arguments: ["content-type", "CONTENT-TYPE", "Content-Type"])
    func namesAreFoundInAnyCase(name: String) {
        let headers: HTTPHeaders = ["Content-Type": "text/plain"]
        #expect(headers[name] == "text/plain")
        #expect(headers.contains(name))
        #expect(headers.values(for: name) == ["text/plain"])
    }

    /// Bytes that differ in the bit of ASCII case without being letters, and a letter whose lower case is ASCII.
    @Test(arguments: [("@", "`"), ("[", "{"), ("^", "~"), ("\u{212A}", "k"), ("É", "é"), ("ab", "abc")])
    func namesThatAreNotEqualButForASCIICaseDiffer(one: String, other: String) {
        let headers = HTTPHeaders([one: "1"])
        #expect(headers[other] == nil)
        #expect(!headers.contains(other))
    }

    /// White space around a value is no part of it, line breaks and what else must not be sent stay for the check.
    @Test(arguments: [
        ("a", "a"), (" a", "a"), ("a\t", "a"), (" \t a b \t", "a b"), (" ", ""), ("\t\t", ""), ("", ""), (" é ", "é"),
        ("a\n ", "a\n"), (" \r\n", "\r\n"), ("\u{A0}a", "\u{A0}a"),
    ])
    func spaceAroundAValueIsNotKept(given: String, kept: String) {
        var field = HTTPHeaders.Field(name: "A", value: given)
        #expect(field.value == kept)
        field.value = "  other\t"
        #expect(field.value == "other")
        #expect((["A": given] as HTTPHeaders)["A"] == kept)
    }

    @Test func linesOfOneNameAreReadJoined() {
        var headers: HTTPHeaders = ["Accept": "a"]
        headers.add("accept", "b")
        headers.add("Other", "x")
        headers.add("ACCEPT", "c")
        #expect(headers["Accept"] == "a, b, c")
        #expect(headers.values(for: "accept") == ["a", "b", "c"])
        #expect(headers["Missing"] == nil)
        #expect(headers.values(for: "Missing").isEmpty)
    }

    @Test func writingReplacesAllLinesInThePlaceOfTheFirst() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4", "A": "5"]
        headers["a"] = "9"
        #expect(headers.map { "\($0.name)=\($0.value)" } == ["a=9", "B=2", "C=4"])
        headers["D"] = "0"
        #expect(headers.last == HTTPHeaders.Field(name: "D", value: "0"))
    }

    @Test func writingNilRemovesAllLines() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        headers["A"] = nil
        #expect(headers.map(\.name) == ["B"])
        headers["Missing"] = nil
        #expect(headers.count == 1)
    }

    @Test func mergingReplacesAllLinesOfAnExistingName() {
        let base: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        let merged = base.merging(["A": "x", "C": "y", "c": "z"])
        #expect(merged.map { "\($0.name)=\($0.value)" } == ["B=2", "A=x", "C=y", "c=z"])
        #expect(base.merging([:]) == base)
        #expect(HTTPHeaders().merging(base) == base)
    }

    @Test func dictionariesAreSortedByName() {
        #expect(HTTPHeaders(["b": "2", "a": "1", "c": "3"]).map(\.name) == ["a", "b", "c"])
    }

    @Test func equalityAndHashIgnoreTheCaseOfNames() {
        let one: HTTPHeaders = ["Accept": "a"]
        let other: HTTPHeaders = ["ACCEPT": "a"]
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
        #expect(one != ["Accept": "A"])
    }

    @Test func descriptionContainsNoValue() {
        let headers: HTTPHeaders = ["Authorization": "Bearer secret", "X-Trace": "1"]
        #expect("\(headers)" == "[Authorization, X-Trace]")
    }

    @Test func itIsACollectionOfFields() {
        let headers: HTTPHeaders = ["A": "1", "B": "2"]
        #expect(headers.count == 2)
        #expect(headers[1].name == "B")
        #expect(HTTPHeaders().isEmpty)
    }

    @Test func cookieLinesAreReadJoinedBySemicolons() {
        var headers: HTTPHeaders = ["Cookie": "a=1", "X": "y"]
        headers.add("cookie", "b=2")
        #expect(headers["Cookie"] == "a=1; b=2")
    }

    /// The time of `n` against `4n`: 4 for a linear function, 16 for a quadratic one.
    @Test func mergingManyFieldsTakesLinearTime() {
        func headers(_ count: Int, _ prefix: String) -> HTTPHeaders {
            HTTPHeaders((0..<count).map { HTTPHeaders.Field(name: "\(prefix)\($0)", value: "1") })
        }
        func time(_ count: Int) -> Duration {
            let (one, other) = (headers(count, "A-"), headers(count, "B-"))
            return threadTime { #expect(one.merging(other).count == 2 * count) }
        }
        #expect(time(8000) < time(2000) * 9)
        let merged = headers(100, "A-").merging(headers(100, "a-"))
        #expect(merged.map(\.name) == (0..<100).map { "a-\($0)" })
    }
}
