import Foundation
import Testing

@testable import Errand

@Suite struct JSONErrorTests {
    @Test(arguments: [
        (JSONError(.trailingText, offset: 7), "Invalid JSON: there is text after the value at byte 7"),
        (JSONError(.unexpectedEnd, offset: 0), "Invalid JSON: the text is empty"),
        (
            JSONError(.unexpectedEnd, offset: 7),
            "Invalid JSON: the text ends before the value does at byte 7; check that the body is complete"
        ),
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
        #expect((error as any Error).localizedDescription == text)
    }

    @Test func pathsAreJoined() {
        #expect(JSONError(.missing, path: "b").inside("a").path == "a.b")
        #expect(JSONError(.missing, path: "[0]").inside("a").path == "a[0]")
        #expect(JSONError(.missing).inside("a").path == "a")
        #expect(JSONError(.missing, path: "a").inside("").path == "a")
        #expect(JSONError(.missing, path: "[0]").atRoot().path == "~[0]")
    }
}
