import Testing

@testable import Errand

@Suite struct HTTPMethodTests {
    @Test(arguments: [
        (HTTPMethod.get, true, true, true), (.head, true, true, true), (.options, true, true, false),
        (.trace, true, true, false), (.put, false, true, false), (.delete, false, true, true),
        (.post, false, false, false), (.patch, false, false, false), ("PURGE", false, false, false),
        ("get", false, false, false),
    ])
    func safetyAndIdempotenceFollowRFC9110(
        method: HTTPMethod,
        isSafe: Bool,
        isIdempotent: Bool,
        putsParametersInQuery: Bool
    ) {
        #expect(method.isSafe == isSafe)
        #expect(method.isIdempotent == isIdempotent)
        #expect(method.putsParametersInQuery == putsParametersInQuery)
    }

    /// The IANA HTTP Method Registry.
    @Test(arguments: [
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "GET", "HEAD", "LABEL", "LINK",
        "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS", "ORDERPATCH",
        "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH", "TRACE", "UNBIND", "UNCHECKOUT",
        "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ])
    func methodsThatTheRegistryCallsIdempotentAre(name: String) {
        let method = HTTPMethod(rawValue: name)
        let safe = ["GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE"]
        #expect(method.isIdempotent)
        #expect(method.isSafe == safe.contains(name))
    }

    @Test(arguments: ["CONNECT", "LOCK", "PATCH", "POST", "propfind", "X-MKCOL"])
    func otherMethodsAreNeitherSafeNorIdempotent(name: String) {
        #expect(!HTTPMethod(rawValue: name).isIdempotent)
        #expect(!HTTPMethod(rawValue: name).isSafe)
    }

    @Test func customMethodStatesItsSemantics() {
        let purge = HTTPMethod("PURGE", isIdempotent: true)
        #expect(purge.isIdempotent && !purge.isSafe)
        let peek = HTTPMethod("PEEK", isSafe: true, isIdempotent: false)
        #expect(peek.isIdempotent && peek.isSafe)
        #expect(!HTTPMethod("PUT", isIdempotent: false).isIdempotent)
        #expect(purge == "PURGE")
        #expect(Set([purge, "PURGE"]).count == 1)
    }

    @Test func methodsAreComparedWithTheirCase() {
        #expect(HTTPMethod(rawValue: "GET") == .get)
        #expect(HTTPMethod(rawValue: "get") != .get)
        #expect("\(HTTPMethod.patch)" == "PATCH")
        #expect(("REPORT" as HTTPMethod).rawValue == "REPORT")
    }
}
