import TestSupport
import Testing

/// Runs each test of a suite as ``OwnWork`` does.
///
/// The same file is in each test target, because only these can import `Testing`.
struct OwnWorkTrait: SuiteTrait, TestTrait, TestScoping {
    var limit: Duration
    var hasOwnThread = false
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let ended = try await OwnWork.run("\(test.id)", limit: limit, hasOwnThread: hasOwnThread) {
            try await function()
        }
        if !ended { Issue.record("exceeded three times its limit of \(limit), waiting in line not counted") }
    }
}

extension Trait where Self == OwnWorkTrait {
    /// Ends a test that hangs, after so many seconds in which it could run; at most four such tests run at once.
    ///
    /// Takes the place of `timeLimit`, which counts the time in which a test waits in line behind others.
    static func limit(seconds: Int) -> Self { OwnWorkTrait(limit: .seconds(seconds)) }

    /// For tests that compute for long or block: they run on a thread of their own, and so do their child tasks.
    static var ownThread: Self { OwnWorkTrait(limit: .seconds(120), hasOwnThread: true) }
}
