import Testing

@testable import Errand

@Suite(.ownThread) struct HostTableTests {
    private func use(_ table: inout HostTable<String, Int>, _ key: String, _ value: Int = 0) {
        let isBusy = { (value: Int) in value > 0 }
        table.change(key, default: 0, isBusy: isBusy) { $0 = value }
    }

    @Test func statesAreKeptApart() {
        var table = HostTable<String, Int>(limit: 4)
        for key in ["a", "b", "a", "a", "b"] { table.change(key, default: 10) { $0 += 1 } }
        #expect(table["a"] == 13 && table["b"] == 12 && table["c"] == nil && table.count == 2)
    }

    @Test func thoseUsedTheLongestAgoAreForgottenBeyondTheLimit() {
        var table = HostTable<String, Int>(limit: 10)
        for number in 0..<10 { use(&table, "h\(number)") }
        use(&table, "h0")
        use(&table, "new")
        #expect(["h0", "h6", "h9", "new"].allSatisfy { table[$0] != nil } && table["h1"] == nil && table.count == 6)
        for number in 0..<1_000 { use(&table, "n\(number)") }
        #expect(table.count <= 10)
    }

    @Test func busyOnesAreKeptHoweverManyThereAre() {
        var table = HostTable<String, Int>(limit: 10)
        for number in 0..<100 { use(&table, "h\(number)", 1) }
        for number in 0..<200 { use(&table, "n\(number)") }
        #expect((0..<100).allSatisfy { table["h\($0)"] == 1 } && table.count <= 210)
        for number in 0..<100 { use(&table, "h\(number)") }
        for number in 0..<300 { use(&table, "m\(number)") }
        #expect(table.count <= 10)
    }

    @Test(arguments: [0, 1]) func costDoesNotGrowWithTheHosts(value: Int) {
        expectLinear(10_000) { count in
            var table = HostTable<String, Int>(limit: 100)
            for number in 0..<count { use(&table, "h\(number)", value) }
        }
    }
}
