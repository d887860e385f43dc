import Testing

@testable import Errand

@Suite struct CachePolicyTests {
    private static let swr = CachePolicy.staleWhileRevalidate(maxAge: .seconds(10), maxStale: .seconds(5))

    /// Before the network is asked; an age of `nil` is one from the future.
    @Test(
        arguments: [
            (CachePolicy.cacheOnly, 1_000_000, CachePolicy.Reading.use), (.cacheOnly, nil, .use),
            (.cacheElseNetwork(maxAge: .seconds(10)), 0, .use), (.cacheElseNetwork(maxAge: .seconds(10)), 10, .use),
            (.cacheElseNetwork(maxAge: .seconds(10)), 11, .refuse(.expired)),
            (.cacheElseNetwork(maxAge: .seconds(10)), nil, .refuse(.clockWentBack)),
            (swr, 10, .use), (swr, 11, .useAndRefresh), (swr, 15, .useAndRefresh), (swr, 16, .refuse(.expired)),
            (swr, nil, .refuse(.clockWentBack)), (.networkElseCache(maxStale: nil), 0, .refuse(.bypassed)),
            (.cacheThenNetwork(maxAge: .seconds(10)), 0, .refuse(.bypassed)), (.reload, 0, .refuse(.bypassed)),
        ] as [(CachePolicy, Int?, CachePolicy.Reading)]
    )
    func beforeTheNetwork(policy: CachePolicy, age: Int?, reading: CachePolicy.Reading) {
        #expect(policy.reading(age: age.map { .seconds($0) }) == reading)
    }

    @Test(
        arguments: [
            (CachePolicy.networkElseCache(maxStale: nil), 1_000_000, CachePolicy.Reading.use),
            (.networkElseCache(maxStale: nil), nil, .use), (.networkElseCache(maxStale: .seconds(10)), 10, .use),
            (.networkElseCache(maxStale: .seconds(10)), 11, .refuse(.expired)),
            (.networkElseCache(maxStale: .seconds(10)), nil, .refuse(.clockWentBack)),
            (.cacheThenNetwork(maxAge: .seconds(10)), 10, .use),
            (.cacheThenNetwork(maxAge: .seconds(10)), 11, .refuse(.expired)),
            (.cacheElseNetwork(maxAge: .seconds(10)), 0, .refuse(.bypassed)), (.reload, 0, .refuse(.bypassed)),
            (swr, 0, .refuse(.bypassed)),
        ] as [(CachePolicy, Int?, CachePolicy.Reading)]
    )
    func afterTheNetworkHasFailed(policy: CachePolicy, age: Int?, reading: CachePolicy.Reading) {
        #expect(policy.readingAfterFailure(age: age.map { .seconds($0) }) == reading)
    }

    @Test(arguments: [
        (NetworkError.Reason.noConnection, true), (.hostNotFound, true), (.connectionRefused, true),
        (.connectionReset, true), (.closedInBody, true), (.idleTimeout(.seconds(1)), true),
        (.deadlineExceeded(.seconds(1)), true), (.status(500), true), (.status(503), true), (.status(429), true),
        (.circuitOpen(retryAfter: .seconds(1)), true), (.malformedStatusLine, true), (.status(404), false),
        (.status(401), false), (.status(403), false), (.certificateRefused("x"), false), (.refreshFailed, false),
        (.loginChanged, false), (.insecureRedirect, false), (.invalidHeaderName, false),
        (.bodyTooLarge(limit: 1), false),
        (.model(type: "T", detail: ""), false),
    ])
    func onlyFailuresOfTheNetworkLetAStoredAnswerStandIn(reason: NetworkError.Reason, standsIn: Bool) {
        #expect(NetworkError(reason).isFailureOfNetwork == standsIn)
    }
}
