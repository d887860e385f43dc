import Foundation
import Testing

@testable import Errand

@Suite struct JSONErrorTests {
    @Test(arguments: [
        (JSONError(.trailingText, offset: 7), "Invalid JSON: there is text after the value at byte 7"),
        (
            JSONError(.missing, offset: 3, path: "data.list[1].id"),
            "A value is missing at data.list[1].id; ask for an optional if it may be absent"
        ),
        (
            JSONError(.typeMismatch(expected: "an array", found: "null"), path: "a"),
            "Expected an array, found null at a"
        ),
    ])
    func descriptionNamesThePlace(error: JSONError, text: String) {
        #expect(error.description == text)
    }

    @Test func pathsAreJoined() {
        #expect(JSONError(.missing, path: "b").inside("a").path == "a.b")
        #expect(JSONError(.missing, path: "[0]").inside("a").path == "a[0]")
        #expect((error as any Error).localizedDescription == text)
        #expect(JSONError(.missing).inside("a").path == "a")
        #expect(JSONError(.missing, path: "a").inside("").path == "a")
        #expect(JSONError(.missing, path: "[0]").atRoot().path == "~[0]")
    }
}
