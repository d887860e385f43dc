import Foundation
import Testing

@testable import Errand

@Suite struct RetryDecisionTests {
    private struct Own: Error {}

    private static let url = URL(filePath: "/x")
    private static let now = Date(timeIntervalSince1970: 1_772_366_400)

    private func decision(
        _ error: any Error,
        policy: RetryPolicy = .standard,
        attempt: Int = 1,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        body: OutgoingBody = .empty,
        remaining: Duration? = nil
    ) -> RetryDecision {
        policy.decision(
            for: RetryPolicy.Failure(
                error,
                attempt: attempt,
                request: OutgoingRequest(method: method, url: Self.url, headers: headers, body: body),
                context: RequestContext(),
                remaining: remaining,
                now: Self.now,
                unit: 0.5
            )
        )
    }

    private static func status(_ code: Int, _ headers: HTTPHeaders = [:]) -> NetworkError {
        NetworkError(.status(code), response: RawResponse(statusCode: code, headers: headers, url: url))
    }

    @Test(arguments: 100..<600)
    func onlySevenStatusesAreRetried(_ code: Int) {
        let expected: RetryDecision =
            switch code {
            case 413: .stop(.noServerDelay)
            case 408, 429, 500, 502, 503, 504: .retry(after: .milliseconds(150), because: .status(code))
            default: .stop(.finalFailure)
            }
        #expect(decision(Self.status(code)) == expected)
    }

    @Test
    func a413IsRetriedOnlyWithRetryAfter() {
        #expect(
            decision(Self.status(413, ["Retry-After": "2"]))
                == .retry(after: .milliseconds(2_100), because: .status(413))
        )
        #expect(decision(Self.status(413, ["Retry-After": "later"])) == .stop(.noServerDelay))
    }

    @Test(arguments: [429, 503, 403])
    func a403ThatReportsALimitIsRetriedAsA429Is(_ code: Int) {
        let limit = Self.status(403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772366410"])
        let policy = RetryPolicy(statusCodes: [code])
        let retry = RetryDecision.retry(after: .milliseconds(10_500), because: .status(403))
        #expect(decision(limit, policy: policy) == (code == 503 ? .stop(.finalFailure) : retry))
        let hour = Self.status(403, ["Retry-After": "3600"])
        let isFinal = RetryDecision.stop(code == 503 ? .finalFailure : .serverTiming(.seconds(3600)))
        #expect(decision(hour, policy: policy) == isFinal)
    }

    private static let connectionFaults: [NetworkError.Reason] = [
        .hostNotFound, .connectionRefused, .noConnection, .connectionReset, .closedWithoutResponse, .closedInBody,
        .sendFailed, .proxyNotFound, .proxyConnectionRefused, .proxyRefused(statusCode: 502),
    ]

    @Test(arguments: connectionFaults)
    func connectionFailureIsRetried(_ reason: NetworkError.Reason) {
        #expect(decision(NetworkError(reason)) == .retry(after: .milliseconds(150), because: .connection))
    }

    private static let finalFaults: [NetworkError.Reason] = [
        .invalidURL("x"), .invalidRequest("x"), .bodyUnreadable("x"), .fileUnusable("x"),
        .idleTimeout(.seconds(1)), .deadlineExceeded(.seconds(1)), .certificateRefused("x"), .invalidResponse("x"),
        .headerSectionTooLarge, .invalidContentCoding,
        .invalidRedirect("x"), .contentType("x"),
        .bodyTooLarge(limit: 1), .tooLarge("x"), .envelope("x"), .model(type: "x", detail: "y"),
        .notCached, .other("x"), .proxyRefused(statusCode: 403), .proxyRefused(statusCode: 407), .invalidProxy,
        .invalidLink("x"),
    ]

    @Test(arguments: finalFaults)
    func permanentFailuresAreNotRetried(_ reason: NetworkError.Reason) {
        #expect(decision(NetworkError(reason)) == .stop(.finalFailure))
    }

    @Test
    func userErrorsAndServiceErrorsAreNotRetried() {
        #expect(decision(Own()) == .stop(.finalFailure))
        let accepted = RawResponse(statusCode: 503, url: Self.url)
        #expect(decision(ServiceError(code: 1, message: nil, response: accepted)) == .stop(.finalFailure))
        #expect(decision(URLError(.networkConnectionLost)) == .stop(.finalFailure))
    }

    @Test(arguments: [(503, true), (429, true), (404, false), (400, false)])
    func rejectedStatusDecidesDespiteAServiceError(_ status: Int, _ isTriedAgain: Bool) {
        var refused = RawResponse(statusCode: status, url: Self.url)
        refused.failure = NetworkError(.status(status))
        let retry = RetryDecision.retry(after: .milliseconds(150), because: .status(status))
        let error = ServiceError(code: 1, message: nil, response: refused)
        #expect(decision(error) == (isTriedAgain ? retry : .stop(.finalFailure)))
    }

    @Test
    func cancelledSendIsNeverRetried() {
        let policy = RetryPolicy(maximumAttempts: 9, retriesTimeouts: true).retrying { _, _ in true }
        #expect(decision(CancellationError(), policy: policy) == .stop(.cancelled))
    }

    @Test
    func idleTimeoutIsRetriedOnlyIfEnabled() {
        let policy = RetryPolicy(retriesTimeouts: true)
        let error = NetworkError(.idleTimeout(.seconds(1)))
        #expect(decision(error, policy: policy) == .retry(after: .milliseconds(150), because: .timeout))
        #expect(decision(NetworkError(.deadlineExceeded(.seconds(1))), policy: policy) == .stop(.finalFailure))
    }

    private static let methods: [(HTTPMethod, Bool)] = [
        (.get, true), (.head, true), (.put, true), (.delete, true), (.options, true), (.trace, true), (.post, false),
        (.patch, false), ("LOCK", false), ("get", false),
    ]

    @Test(arguments: methods)
    func onlyIdempotentMethodsAndKeyedRequestsAreRetried(_ method: HTTPMethod, _ isIdempotent: Bool) {
        let retry = RetryDecision.retry(after: .milliseconds(150), because: .status(503))
        let error = Self.status(503)
        #expect(decision(error, method: method) == (isIdempotent ? retry : .stop(.notIdempotent)))
        #expect(decision(error, method: method, headers: ["idempotency-key": "k"]) == retry)
        #expect(
            decision(error, method: method, headers: ["Idempotency-Key": ""])
                == (isIdempotent ? retry : .stop(.notIdempotent))
        )
    }

    private struct Once: BodySource {
        var byteCount: Int64? { 1 }
        let isReplayable: Bool
        func makeReader() throws -> any BodyReader { throw Own() }
    }

    @Test
    func aBodyThatCanBeReadOnceIsSentOnce() {
        let retry = RetryDecision.retry(after: .milliseconds(150), because: .status(503))
        func put(_ body: OutgoingBody) -> RetryDecision { decision(Self.status(503), method: .put, body: body) }
        #expect(put(.source(Once(isReplayable: false))) == .stop(.notReplayable))
        #expect(put(.source(Once(isReplayable: true))) == retry)
        #expect(put(.data(Data("x".utf8))) == retry)
    }

    @Test(arguments: [(307, true), (308, true), (302, true), (303, false)])
    func bodyThatCanBeReadOnceIsNotSentAgainByARedirect(_ status: Int, _ keepsBody: Bool) throws {
        let base = try #require(URL(string: "https://api.example/x"))
        let request = OutgoingRequest(method: .put, url: base, body: .source(Once(isReplayable: false)))
        let response = RawResponse(statusCode: status, headers: ["Location": "/y"], url: base)
        let credentials = RedirectCredentials(ownHeaders: request.headers, ownBody: request.body)
        let next = Result {
            try RedirectPolicy.follow.next(after: response, to: request, hops: 0, credentials: credentials)
        }
        if keepsBody {
            let error = #expect(throws: NetworkError.self) { try next.get() }
            #expect(error?.reason == .invalidRedirect("its body can be read only once"))
        } else {
            #expect(try next.get()?.request.body.isEmpty == true)
        }
    }

    @Test
    func retryAfterBeyondTheMaximumEndsTheSendAtOnce() {
        #expect(
            decision(Self.status(503, ["Retry-After": "60"])) == .retry(after: .seconds(62.5), because: .status(503))
        )
        #expect(decision(Self.status(503, ["Retry-After": "61"])) == .stop(.serverTiming(.seconds(61))))
        let patient = RetryPolicy(maximumServerDelay: .seconds(100))
        #expect(
            decision(Self.status(503, ["Retry-After": "61"]), policy: patient)
                == .retry(after: .seconds(63.5), because: .status(503))
        )
    }

    @Test
    func delayThatReachesTheDeadlineIsNotMade() {
        let error = Self.status(503, ["Retry-After": "5"])
        #expect(decision(error, remaining: .seconds(5)) == .stop(.deadline))
        #expect(decision(error, remaining: .seconds(-1)) == .stop(.deadline))
        #expect(decision(error, remaining: .milliseconds(5001)) == .retry(after: .seconds(5), because: .status(503)))
        #expect(decision(Self.status(503), remaining: .milliseconds(150)) == .stop(.deadline))
    }

    @Test
    func numberOfAttemptsIsLimited() {
        let retry = RetryDecision.retry(after: .milliseconds(300), because: .status(503))
        #expect(decision(Self.status(503), attempt: 2) == retry)
        #expect(decision(Self.status(503), attempt: 3) == .stop(.lastAttempt))
        #expect(decision(Self.status(503), policy: .never) == .stop(.lastAttempt))
        #expect(decision(Self.status(503), policy: .inherited) == .stop(.lastAttempt))
    }

    @Test
    func closureAddsFailuresAndKeepsOtherConditions() {
        let policy = RetryPolicy.standard.retrying { error, _ in (error as? ServiceError)?.code == 7 || error is Own }
        let retry = RetryDecision.retry(after: .milliseconds(150), because: .closure)
        #expect(decision(Own(), policy: policy) == retry)
        #expect(decision(Own(), policy: policy, method: .post) == .stop(.notIdempotent))
        #expect(decision(Own(), policy: policy, attempt: 3) == .stop(.lastAttempt))
        let response = RawResponse(statusCode: 200, headers: ["Retry-After": "4"], url: Self.url)
        #expect(
            decision(ServiceError(code: 7, message: nil, response: response), policy: policy)
                == .retry(after: .milliseconds(4_200), because: .closure)
        )
        #expect(decision(Self.status(404), policy: policy) == .stop(.finalFailure))
        let all = RetryPolicy.standard.retrying { _, _ in true }
        #expect(decision(Self.status(404), policy: all) == retry)
        #expect(decision(NetworkError(.invalidRequest("x")), policy: all) == .stop(.finalFailure))
    }
}
