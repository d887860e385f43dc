import Testing

@testable import Errand

@Suite struct LimitsTests {
    private let full = Limits(
        timeout: .seconds(1),
        deadline: .seconds(2),
        maximumBodySize: 3,
        minimumInterval: .seconds(4)
    )

    @Test func gapsAreFilledFromOthers() {
        #expect(Limits().inheriting(full) == full)
        #expect(full.inheriting(Limits(timeout: .zero, deadline: .zero, maximumBodySize: 0)) == full)
        #expect(Limits(deadline: .seconds(9)).inheriting(full).deadline == .seconds(9))
        #expect(Limits(deadline: .seconds(9)).inheriting(full).timeout == .seconds(1))
    }

    @Test func theLibraryLimitsSilenceAndSizeOnly() {
        #expect(Limits.library == Limits(timeout: .seconds(60), maximumBodySize: 64 << 20))
    }

    @Test func policiesTakeAtLeastWhatMakesSense() {
        #expect(RetryPolicy(maximumAttempts: -3).maximumAttempts == 1)
        #expect(RetryPolicy(maximumAttempts: 1) == .never)
        #expect(RetryPolicy.inherited.maximumAttempts == nil)
        #expect(RedirectPolicy(maximumHops: -1) == .refuse)
        #expect(RedirectPolicy.inherited.maximumHops == nil)
    }

    @Test func priorityAndOriginAreOrdered() {
        #expect([Priority.high, .low, .normal].sorted() == [.low, .normal, .high])
        #expect([Origin.request, .library, .service, .config].sorted() == [.library, .config, .service, .request])
    }
}
