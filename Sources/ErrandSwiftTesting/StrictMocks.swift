// `swift build` alone does not have Testing, which only a build of tests needs.
#if canImport(Testing)
public import ErrandTesting
public import Testing

extension StubTransport {
    /// Creates a transport without responses that fails the test for each request without a mock or a route.
    ///
    /// - Parameters:
    ///   - strict: Whether the test fails; the send fails anyway.
    ///   - sourceLocation: Where the failure is reported.
    public convenience init(strict: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        self.init(reporting: Issue.reporter(strict, sourceLocation), nil)
    }
}

extension MockServer {
    /// Creates and starts a server that fails the test for each request without a mock or a route.
    ///
    /// - Parameters:
    ///   - strict: Whether the test fails; the response is a 404 anyway.
    ///   - sourceLocation: Where the failure is reported.
    /// - Throws: `MockServerError` if it cannot listen on a port.
    public convenience init(strict: Bool, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try self.init(port: 0, reporting: Issue.reporter(strict, sourceLocation), nil)
    }
}

extension Issue {
    fileprivate static func reporter(_ isUsed: Bool, _ sourceLocation: SourceLocation) -> @Sendable (String) -> Void {
        { if isUsed { Issue.record(Comment(rawValue: $0), sourceLocation: sourceLocation) } }
    }
}
#endif
