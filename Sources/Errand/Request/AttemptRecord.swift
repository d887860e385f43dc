internal import Foundation
internal import Synchronization

/// The requests that were sent in one attempt.
///
/// They determine retries and repetitions after a refresh, and not the request before adapters, interceptors and redirects.
///
/// An attempt has one only if its requests can differ from the prepared request, or if it is not the first attempt.
final class AttemptRecord: Sendable {
    private struct State {
        /// The last request, or the first one that must not be sent twice.
        var judged: OutgoingRequest?
        /// Whether the last request may have had an effect that sending it again would repeat.
        var lastHadEffect = false
        /// Whether a request before the last one may have had such an effect.
        var earlierHadEffect = false
        /// The host for which the attempt was counted, ignoring redirects.
        var host: Origin?
        var repetition = Repetition()
    }

    /// The repetitions and the time that a refresh of the credential added to an attempt.
    struct Repetition: Sendable {
        /// The number of requests that were repeated, which is at most 1.
        var count = 0
        /// The unauthorized request, if its duration is known.
        var attempt: Metrics.Attempt?
        /// The time spent waiting for refreshes.
        var waiting = Duration.zero
    }

    /// The number of the attempt, from 1.
    let number: Int
    /// Whether the attempt uses the retry budget, and counts there as a retry.
    let isPaid: Bool
    /// The `Idempotency-Key` with which the request was sent before, or `nil` if the method needs none.
    ///
    /// With another key it would be another request.
    let idempotencyKey: String?
    private let state = Lock(State())

    init(number: Int = 1, isPaid: Bool, idempotencyKey: String? = nil) {
        self.number = number
        self.isPaid = isPaid
        self.idempotencyKey = idempotencyKey
    }

    /// Returns the host of a request, in the form of ``PreparedRequest/origin``.
    private static func host(of request: OutgoingRequest, _ prepared: PreparedRequest) -> Origin {
        request.url == prepared.outgoing.url ? prepared.origin : request.url.origin
    }

    /// The request that represents all requests that were sent, or `nil` if none was.
    var judged: OutgoingRequest? { state.withLock { $0.judged } }

    /// The host that the attempt was last sent to, before redirects, or `nil` if nothing was sent.
    var host: Origin? { state.withLock { $0.host } }

    var repetition: Repetition { state.withLock { $0.repetition } }

    func noteWaiting(_ duration: Duration) { state.withLock { $0.repetition.waiting += duration } }

    /// Records that the attempt is made once more.
    func noteRepetition(of attempt: Metrics.Attempt?) {
        state.withLock { ($0.repetition.count, $0.repetition.attempt) = ($0.repetition.count + 1, attempt) }
    }

    /// Whether the attempt can be repeated after an unauthorized response to its last request.
    ///
    /// The last request had no effect, but an earlier one may have, such as a POST that was redirected to a GET.
    var isRepeatable: Bool {
        state.withLock { ($0.judged?.body.isReplayable ?? true) && !$0.earlierHadEffect }
    }

    /// Records a request that is about to be sent.
    ///
    /// - Returns: Whether it is the attempt's first request to its host, ignoring redirects.
    func willSend(_ request: OutgoingRequest, of prepared: PreparedRequest, isRedirected: Bool) -> Bool {
        let host = isRedirected ? nil : Self.host(of: request, prepared)
        return state.withLock { state in
            state.earlierHadEffect = state.earlierHadEffect || state.lastHadEffect
            state.lastHadEffect = !request.mayBeSentTwice
            // A body that can be read once takes precedence; the method matters for retries only.
            let isSettled = state.judged.map { !$0.body.isReplayable || !$0.mayBeSentTwice } ?? false
            if !isSettled || !request.body.isReplayable { state.judged = request }
            guard let host, host != state.host else { return false }
            state.host = host
            return true
        }
    }

    /// Records the status of the response to the last request.
    ///
    /// A request that the server rejected, or redirected with a 307 or 308, had no effect.
    func didReceive(_ statusCode: Int) {
        guard (400..<500).contains(statusCode) || statusCode == 307 || statusCode == 308 else { return }
        state.withLock { $0.lastHadEffect = false }
    }
}

/// A body that can be read once in a send, however often an interceptor runs the send.
final class SingleUseBody: BodySource {
    private let base: any BodySource
    private let isOpened = Atomic(false)

    init(_ base: any BodySource) { self.base = base }

    var byteCount: Int64? { base.byteCount }
    var isReplayable: Bool { false }

    func makeReader() throws -> any BodyReader {
        if isOpened.exchange(true, ordering: .relaxed) { throw NetworkError(.bodyAlreadySent) }
        return try base.makeReader()
    }
}

extension OutgoingRequest {
    /// The same request; a body that can be read once rejects a second reader.
    var guardedAgainstReuse: OutgoingRequest {
        guard case .source(let source) = body, !source.isReplayable else { return self }
        var copy = self
        copy.body = .source(SingleUseBody(source))
        return copy
    }
}

extension OutgoingRequest {
    /// The key by which a server recognizes the request when it is repeated, or `nil` if its method needs none.
    var neededIdempotencyKey: String? { method.isIdempotent ? nil : headers["Idempotency-Key"] }
}

extension PreparedRequest {
    /// Whether the request that is sent can differ from ``outgoing``, ignoring redirects.
    var mayChangeOnItsWay: Bool {
        self.pinnedCredential != nil || !self.adapters.isEmpty || !self.interceptors.isEmpty || receiver != nil
    }
}
