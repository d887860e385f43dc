import Testing

@testable import Errand

@Suite struct NetworkErrorFactsTests {
    @Test(arguments: [
        (NetworkError.Reason.hostNotFound, FailureFacts(.network, isTransient: true, isRepeatable: true)),
        (.connectionReset, FailureFacts(.network, isTransient: true, isRepeatable: true)),
        (.idleTimeout(.seconds(1)), FailureFacts(.network, isTransient: true)),
        (.deadlineExceeded(.seconds(1)), FailureFacts(.network, isTransient: true)),
        (.proxyNotFound, FailureFacts(.proxy, isTransient: true, isRepeatable: true)),
        (.proxyRefused(statusCode: 502), FailureFacts(.proxy, isTransient: true, isRepeatable: true)),
        (.proxyRefused(statusCode: 407), FailureFacts(.proxy)), (.invalidProxy, FailureFacts(.proxy)),
        (.circuitOpen(retryAfter: .seconds(1)), FailureFacts(.server, isTransient: true)),
        (.malformedChunk, FailureFacts(.server, isTransient: true)),
        (.certificateRefused("expired"), FailureFacts(.server)),
        (.status(503), FailureFacts(.server, isTransient: true)),
        (.status(408), FailureFacts(.network, isTransient: true)),
        (.status(429), FailureFacts(.caller, isTransient: true)),
        (.status(404), FailureFacts(.caller)), (.invalidURL("x"), FailureFacts(.caller)),
        (.bodyUnreadable("x"), FailureFacts(.caller)), (.other("x"), FailureFacts(.caller, isTransient: true)),
    ])
    func aReasonHasOneMeaningForEveryStage(reason: NetworkError.Reason, facts: FailureFacts) {
        #expect(reason.facts == facts)
    }

    @Test func aFailedRefreshMayPassIfItsCauseMay() {
        let passing = NetworkError(.refreshFailed, underlying: NetworkError(.status(503)))
        #expect(passing.facts.isTransient && !passing.facts.isOfHost && passing.kind == .unauthenticated)
        let final = NetworkError(.refreshFailed, underlying: NetworkError(.status(401)))
        #expect(!final.facts.isTransient && final.kind == .unauthenticated)
    }

    @Test func aProxyIsNotAFailureOfTheHost() {
        #expect(CircuitBreaker.usualVerdict(.failure(NetworkError(.proxyRefused(statusCode: 502)))) == .ignored)
        #expect(CircuitBreaker.usualVerdict(.failure(NetworkError(.connectionRefused))) == .failure)
    }
}
