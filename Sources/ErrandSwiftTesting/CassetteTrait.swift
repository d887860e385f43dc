// `swift build` alone does not have Testing, which only a build of tests needs.
#if canImport(Testing)
public import Errand
public import ErrandTesting
import Foundation
public import Testing

/// A trait that gives a test a cassette; see `Trait.cassette(_:mode:over:secrets:ignoring:comparing:ignoresOrigin:order:renewing:file:)`.
public struct CassetteTrait: TestTrait, SuiteTrait, TestScoping {
    let make: @Sendable () throws -> Cassette

    /// The cassettes that this process records, by their files, which several tests may share.
    private static let recorded = Lock<[URL: Cassette]>([:])

    /// `true`: each test of a suite has the cassette, from its beginning.
    public var isRecursive: Bool { true }

    /// Runs a test with the cassette as ``ErrandTesting/Cassette/current``, and waits until its responses are recorded.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let cassette = try make()
        do {
            try await Cassette.withCurrent(cassette) { try await function() }
        } catch {
            // The first error is the one of the test.
            try? await cassette.finish()
            throw error
        }
        try await cassette.finish()
    }

    /// Returns the cassette of a file: one for all tests while it is recorded, and a new one for each test that replays it.
    static func cassette(
        of file: URL,
        _ mode: Cassette.Mode,
        _ make: () throws -> Cassette
    ) throws -> Cassette {
        if mode != .replay, let cassette = recorded.withLock({ $0[file] }) { return cassette }
        let made = try make()
        guard mode != .replay else { return made }
        return recorded.withLock { cassettes in
            let cassette = cassettes[file] ?? made
            cassettes[file] = cassette
            return cassette
        }
    }

    /// Returns the mode that an environment names.
    static func mode(in environment: [String: String]) throws(CassetteError) -> Cassette.Mode {
        let name = environment["ERRAND_CASSETTES"] ?? ""
        guard !name.isEmpty else { return .replay }
        if let mode = Cassette.Mode(rawValue: name) { return mode }
        throw CassetteError("ERRAND_CASSETTES is \(name), which is no mode: set it to record, recordMissing or replay")
    }
}

extension Trait where Self == CassetteTrait {
    /// A trait that gives a test, or each test of a suite, the cassette `Cassettes/NAME.har` beside the source file of the test,
    /// as `Cassette.current`.
    ///
    /// Tests, and the cases of a test with arguments, may share a file: while it is recorded they have one cassette, that of the
    /// first, and each replays it from its beginning.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without its extension.
    ///   - mode: What is done with a request, or `nil` for the value of `ERRAND_CASSETTES` in the environment: `record`,
    ///     `recordMissing` or `replay`, the default. Another value fails the test.
    ///   - transport: Returns the transport that is recorded. By default, one session of URLSession.
    ///   - secrets: Names of secrets in addition to those of the agent's config.
    ///   - ignored: Names of parameters, JSON members and header fields whose values are not compared.
    ///   - fields: Header fields that are compared; none by default.
    ///   - ignoresOrigin: Whether scheme, host and port are not compared.
    ///   - order: The order in which entries are played; ``ErrandTesting/Cassette/Order/recorded`` is for a file of one test.
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
            let mode = try mode ?? CassetteTrait.mode(in: ProcessInfo.processInfo.environment)
            let file = URL(filePath: file).deletingLastPathComponent().appending(path: "Cassettes/\(name).har")
            return try CassetteTrait.cassette(of: file, mode) {
                try Cassette(
                    at: file,
                    mode: mode,
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
}
#endif
