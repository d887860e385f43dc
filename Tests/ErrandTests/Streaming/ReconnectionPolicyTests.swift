import Foundation
import Testing

@testable import Errand

@Suite struct ReconnectionPolicyTests {
    private let policy = ReconnectionPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(20))

    @Test(arguments: [(0, 1.0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 20), (1_000_000, 20), (-1, 1)])
    func delayDoublesWithFailuresUpToTheMaximum(failures: Int, seconds: Double) {
        #expect(policy.delay(afterFailures: failures, unit: 0) == .seconds(seconds))
        #expect(policy.delay(afterFailures: failures, unit: 0.5) == .seconds(min(20, seconds * 1.5)))
        #expect(policy.delay(afterFailures: failures, unit: 7) == .seconds(min(20, seconds * 2)))
        #expect(policy.delay(afterFailures: failures, unit: -.nan) >= .seconds(seconds))
    }

    @Test func serverSetsTheReconnectionTimeWithinBounds() {
        func delay(_ time: Duration) -> Duration { policy.delay(afterFailures: 0, reconnectionTime: time, unit: 0) }
        #expect(delay(.milliseconds(250)) == .milliseconds(250))
        #expect(delay(.zero) == .milliseconds(100))
        #expect(delay(.seconds(86_400)) == .seconds(20))
    }

    @Test func retryAfterIsAtLeastTheDelayAndBounded() {
        func delay(_ time: Duration) -> Duration { policy.delay(afterFailures: 1, retryAfter: time, unit: 0) }
        #expect(delay(.seconds(5)) == .seconds(5))
        #expect(delay(.zero) == .seconds(1))
        #expect(delay(.seconds(3600)) == .seconds(20))
        #expect(policy.delay(afterFailures: 1, retryAfter: .seconds(5), unit: 0.5) == .seconds(5.25))
    }

    @Test(arguments: [true, false])
    func a403IsTemporaryIfItReportsALimit(hasDelay: Bool) throws {
        let url = try #require(URL(string: "https://a.example/"))
        let response = RawResponse(statusCode: 403, headers: hasDelay ? ["Retry-After": "5"] : [:], url: url)
        #expect(policy.isTemporary(NetworkError(.status(403), response: response)) == hasDelay)
    }

    @Test func valuesAreLimitedToTheirRanges() {
        let policy = ReconnectionPolicy(
            maximumFailures: -1,
            initialDelay: .seconds(1 << 50),
            maximumDelay: .seconds(-1)
        )
        #expect(policy == ReconnectionPolicy(maximumFailures: 0, initialDelay: .zero, maximumDelay: .zero))
        #expect(policy.maximumDelay == ReconnectionPolicy.shortestDelay)
    }

    @Test(arguments: [
        (NetworkError.Reason.connectionReset, true), (.closedInBody, true), (.connectionRefused, true),
        (.hostNotFound, true),
        (.idleTimeout(.seconds(1)), true), (.status(500), true), (.status(599), true), (.status(404), false),
        (.status(429), true), (.status(408), true), (.status(301), false), (.deadlineExceeded(.seconds(1)), false),
        (.contentType("text/html"), false),
        (.eventTooLarge(limit: 1), false), (.bodyUnreadable("x"), false), (.certificateRefused(""), false),
        (.tooSoon(retryAfter: .zero), true), (.circuitOpen(retryAfter: .zero), true), (.refreshFailed, false),
    ])
    func onlyFailuresThatMayPassAreTemporary(reason: NetworkError.Reason, isTemporary: Bool) {
        #expect(policy.isTemporary(NetworkError(reason)) == isTemporary)
    }

    @Test func aMinimumIntervalStatesTheDelay() {
        let error = NetworkError(.tooSoon(retryAfter: .seconds(2)))
        #expect(policy.retryAfter(error, now: Date()) == .seconds(2))
    }

    @Test(arguments: [(NetworkError.Reason.connectionRefused, true), (.status(502), true), (.status(400), false)])
    func aFailedRefreshIsAsTemporaryAsItsCause(reason: NetworkError.Reason, isTemporary: Bool) {
        let error = NetworkError(.refreshFailed, underlying: NetworkError(reason))
        #expect(policy.isTemporary(error) == isTemporary)
    }

    @Test func errorsOfTheUserAndCancellationAreFinal() {
        #expect(!policy.isTemporary(Boom()))
        #expect(!policy.isTemporary(CancellationError()))
    }
}
