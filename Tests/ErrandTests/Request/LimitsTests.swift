import Testing

@testable import Errand

@Suite struct LimitsTests {
    @Test func libraryLimitsIdleTimeAndSizesOnly() {
        let library = Limits.library
        #expect(library.timeout == .seconds(60))
        #expect(library.maximumBodySize == 64 << 20)
        #expect(library.maximumHeaderSize == 300 << 10)
        #expect(library.maximumExpansion == 200)
        #expect(library.deadline == nil)
        #expect(library.minimumInterval == nil)
        #expect(Limits() != library)
    }

    @Test func policiesClampTheirValues() {
        #expect(RetryPolicy(maximumAttempts: -3).maximumAttempts == 1)
        #expect(RetryPolicy(maximumAttempts: 1) == .never)
        #expect(RetryPolicy.inherited.maximumAttempts == nil)
        #expect(RedirectPolicy(maximumHops: -1) == .refuse)
        #expect(RedirectPolicy.inherited.maximumHops == nil)
    }

    @Test func priorityAndOriginAreOrdered() {
        #expect([RequestPriority.high, .low, .normal].sorted() == [.low, .normal, .high])
        #expect(
            [SettingSource.request, .library, .service, .config].sorted() == [.library, .config, .service, .request]
        )
    }
}
