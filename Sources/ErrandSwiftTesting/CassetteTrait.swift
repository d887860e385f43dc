// `swift build` alone does not have Testing, which only a build of tests needs.
#if canImport(Testing)
public import Errand
public import ErrandTesting
import Foundation
public import Testing

/// A trait that gives a test a cassette; see `Trait.cassette(_:mode:over:secrets:ignoring:comparing:ignoresOrigin:order:renewing:file:)`.
public struct CassetteTrait: TestTrait, SuiteTrait, TestScoping {
    let make: @Sendable () throws -> Cassette

    /// `true`: each test of a suite has the cassette, from its beginning.
    public var isRecursive: Bool { true }

    /// Runs a test with the cassette as ``ErrandTesting/Cassette/current``.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Cassette.withCurrent(try make()) { try await function() }
    }
}

extension Trait where Self == CassetteTrait {
    /// A trait that gives a test, or each test of a suite, a cassette of its own, `Cassettes/NAME.har` beside the source file of
    /// the test, as `Cassette.current`.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without its extension.
    ///   - mode: What is done with a request, or `nil` for what `ERRAND_CASSETTES` in the environment says, `record`,
    ///     `recordMissing` or `replay`, which is used if it says nothing.
    ///   - transport: Returns the transport that is recorded. By default, one session of URLSession.
    ///   - secrets: Names of secrets in addition to those of the agent's config.
    ///   - ignored: Names of parameters, JSON members and header fields whose values are not compared.
    ///   - fields: Header fields that are compared; none by default.
    ///   - ignoresOrigin: Whether scheme, host and port are not compared.
    ///   - order: The order in which entries are played.
    ///   - renewed: Methods and paths whose entries are recorded anew by `recordMissing`.
    ///   - file: The source file of the test.
    /// - Returns: The trait.
    public static func cassette(
        _ name: String,
        mode: Cassette.Mode? = nil,
        over transport: @escaping @Sendable () -> any Transport = { URLSessionTransport() },
        secrets: Secrets = Secrets(),
        ignoring ignored: [String] = [],
        comparing fields: [String] = [],
        ignoresOrigin: Bool = false,
        order: Cassette.Order = .any,
        renewing renewed: [StubTransport.Route] = [],
        file: String = #filePath
    ) -> CassetteTrait {
        CassetteTrait {
            let named = ProcessInfo.processInfo.environment["ERRAND_CASSETTES"].flatMap(Cassette.Mode.init)
            return try Cassette(
                at: URL(filePath: file).deletingLastPathComponent().appending(path: "Cassettes/\(name).har"),
                mode: mode ?? named ?? .replay,
                over: transport(),
                secrets: secrets,
                ignoring: ignored,
                comparing: fields,
                ignoresOrigin: ignoresOrigin,
                order: order,
                renewing: renewed
            )
        }
    }
}
#endif
