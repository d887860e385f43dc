import Testing

@testable import Errand

@Suite struct HTTPMethodTests {
    @Test(arguments: [
        (HTTPMethod.get, true, true, true), (.head, true, true, true), (.options, true, true, false),
        (.trace, true, true, false), (.put, false, true, false), (.delete, false, true, true),
        (.post, false, false, false), (.patch, false, false, false), ("PURGE", false, false, false),
        ("get", false, false, false),
    ])
    func safetyAndIdempotenceAreThoseOfRFC9110(
        method: HTTPMethod,
        isSafe: Bool,
        isIdempotent: Bool,
        putsParametersInQuery: Bool
    ) {
        #expect(method.isSafe == isSafe)
        #expect(method.isIdempotent == isIdempotent)
        #expect(method.putsParametersInQuery == putsParametersInQuery)
    }

    @Test func methodsAreComparedWithTheirCase() {
        #expect(HTTPMethod(rawValue: "GET") == .get)
        #expect(HTTPMethod(rawValue: "get") != .get)
        #expect("\(HTTPMethod.patch)" == "PATCH")
        #expect(("REPORT" as HTTPMethod).rawValue == "REPORT")
    }
}
