import Foundation
import Testing

@testable import Errand

@Suite struct RetryPolicyTests {
    @Test(arguments: [
        (1, 300), (2, 600), (3, 1200), (7, 19_200), (8, 30_000), (9, 30_000), (1000, 30_000), (Int.max - 1, 30_000),
        (0, 300), (Int.min, 300),
    ])
    func theCeilingDoublesUpToTheMaximum(_ attempt: Int, _ milliseconds: Int) {
        let policy = RetryPolicy(maximumAttempts: .max)
        #expect(policy.delay(afterAttempt: attempt, retryAfter: nil, unit: 1) == .milliseconds(milliseconds))
    }

    @Test
    func jitterIsFull() throws {
        let policy = RetryPolicy(maximumAttempts: 10)
        #expect(policy.delay(afterAttempt: 1, retryAfter: nil, unit: 0) == .zero)
        #expect(policy.delay(afterAttempt: 2, retryAfter: nil, unit: 0.5) == .milliseconds(300))
        var generator = SeededGenerator()
        for _ in 0..<2000 {
            let attempt = Int.random(in: 1...9, using: &generator)
            let unit = Double.random(in: 0..<1, using: &generator)
            let pause = try #require(policy.delay(afterAttempt: attempt, retryAfter: nil, unit: unit))
            let ceiling = min(0.3 * pow(2, Double(attempt - 1)), 30)
            #expect(abs(pause / .seconds(1) - ceiling * unit) < 1e-9)
        }
    }

    @Test(arguments: [-1, 2, .nan, .infinity, -.infinity, 1e300])
    func aUnitOutsideItsRangeStaysWithinTheCeiling(_ unit: Double) throws {
        let pause = try #require(RetryPolicy.standard.delay(afterAttempt: 1, retryAfter: nil, unit: unit))
        #expect(pause >= .zero && pause <= .milliseconds(300))
    }

    @Test
    func retryAfterIsNeverShortenedAndSpreadOverATenth() {
        let policy = RetryPolicy.standard
        for (unit, tenth, most) in [(-1.0, 0, 0), (0, 0, 0), (0.5, 350, 2_500), (1, 700, 5_000), (9, 700, 5_000)] {
            let (short, long) = (Duration.milliseconds(7_000 + tenth), Duration.milliseconds(60_000 + most))
            #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(7), unit: unit) == short)
            #expect(policy.delay(afterAttempt: 2, retryAfter: .zero, unit: unit) == .zero)
            #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(60), unit: unit) == long)
            #expect(policy.delay(afterAttempt: 1, retryAfter: .milliseconds(60_001), unit: unit) == nil)
        }
    }

    @Test
    func theLastAttemptIsFollowedByNone() {
        #expect(RetryPolicy.standard.delay(afterAttempt: 2, retryAfter: nil, unit: 0) == .zero)
        #expect(RetryPolicy.standard.delay(afterAttempt: 3, retryAfter: nil, unit: 0) == nil)
        #expect(RetryPolicy.never.delay(afterAttempt: 1, retryAfter: nil, unit: 0) == nil)
        #expect(RetryPolicy.inherited.delay(afterAttempt: 1, retryAfter: nil, unit: 0) == nil)
    }

    @Test
    func extremeValuesAreClamped() {
        let policy = RetryPolicy(
            maximumAttempts: -3,
            baseDelay: .seconds(-1),
            maximumDelay: .seconds(Int64.max),
            maximumServerDelay: .seconds(Int64.max)
        )
        #expect(policy.maximumAttempts == 1)
        #expect(policy.baseDelay == .zero)
        #expect(policy.maximumDelay == RetryPolicy.longestDelay)
        #expect(policy.maximumServerDelay == RetryPolicy.longestDelay)
        let endless = RetryPolicy(maximumAttempts: .max, baseDelay: .zero)
        #expect(endless.delay(afterAttempt: .max - 1, retryAfter: nil, unit: 1) == .zero)
        let steep = RetryPolicy(maximumAttempts: 5, baseDelay: .seconds(90), maximumDelay: .seconds(9))
        #expect(steep.delay(afterAttempt: 1, retryAfter: nil, unit: 1) == .seconds(9))
    }

    @Test
    func policiesAreEqualByValueAndThoseWithAClosureByOrigin() {
        #expect(RetryPolicy() == .standard)
        #expect(RetryPolicy(maximumAttempts: 1) == .never)
        #expect(RetryPolicy(maximumAttempts: 3, retriesTimeouts: true) != .standard)
        #expect(RetryPolicy.standard != .inherited)
        let own = RetryPolicy.standard.retrying { _, _ in true }
        let copy = own
        #expect(own == copy)
        #expect(own.hashValue == copy.hashValue)
        #expect(own != RetryPolicy.standard.retrying { _, _ in true })
        #expect(own != .standard)
        #expect(RetryPolicy.inherited.retrying { _, _ in true }.maximumAttempts == 3)
    }

    @Test
    func descriptionListsTheDelays() {
        #expect("\(RetryPolicy.never)" == "one attempt")
        #expect("\(RetryPolicy.inherited)" == "inherited")
        #expect("\(RetryPolicy.standard)" == "up to 3 attempts, delays of up to 300 ms, doubling to 30.0 s")
    }
}
