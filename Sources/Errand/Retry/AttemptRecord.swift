internal import Foundation

/// What left for the wire in one attempt: retries and repetitions after a login's refresh judge that, and not what the
/// request was before adapters, interceptors and redirects.
///
/// Only an attempt whose requests can differ from what was prepared has one, or that is not the first.
final class AttemptRecord: Sendable {
    private struct State {
        /// The last request, or the first one that must not be sent twice.
        var judged: OutgoingRequest?
        /// Whether the last request may have had an effect that a second one would have again.
        var lastHadEffect = false
        /// The same, of those before the last.
        var earlierHadEffect = false
        /// Where the attempt was counted, without what redirects led to.
        var host: String?
    }

    /// Whether the attempt uses the retry budget, and counts there as a retry.
    let isPaid: Bool
    /// The `Idempotency-Key` under which the request was sent before; `nil` if the method needs none.
    ///
    /// Another one would make it another request.
    let idempotencyKey: String?
    private let state = Lock(State())

    init(isPaid: Bool, idempotencyKey: String? = nil) {
        self.isPaid = isPaid
        self.idempotencyKey = idempotencyKey
    }

    /// Where a request goes, in the spelling of ``PreparedRequest/origin``.
    private static func host(of request: OutgoingRequest, _ prepared: PreparedRequest) -> String {
        if request.url == prepared.outgoing.url { return prepared.origin }
        // It was checked before; whatever cannot be read still has a name of its own.
        return (try? URLParts(absolute: request.url.absoluteString))?.originKey ?? request.url.origin
    }

    /// The request that stands for all that were sent; `nil` if none was.
    var judged: OutgoingRequest? { state.withLock { $0.judged } }

    /// The host that the attempt was last sent to, before redirects; `nil` if nothing was sent.
    var host: String? { state.withLock { $0.host } }

    /// Whether the attempt can be repeated after its last request was refused for its credential.
    ///
    /// A refused request had no effect. One before it may have had one, such as a POST that was redirected to a GET.
    var isRepeatable: Bool {
        state.withLock { ($0.judged?.body.isReplayable ?? true) && !$0.earlierHadEffect }
    }

    /// Notes a request that goes on the wire.
    ///
    /// - Returns: Whether it is the first of the attempt to its host, redirects left out.
    /// - Throws: ``NetworkError/Reason/bodyAlreadySent`` if the body can be read once, and one such was sent before.
    func willSend(
        _ request: OutgoingRequest,
        of prepared: PreparedRequest,
        isRedirected: Bool
    ) throws(NetworkError) -> Bool {
        let host = isRedirected ? nil : Self.host(of: request, prepared)
        return try state.withLock { state throws(NetworkError) in
            if !request.body.isReplayable, state.judged?.body.isReplayable == false {
                throw NetworkError(.bodyAlreadySent)
            }
            state.earlierHadEffect = state.earlierHadEffect || state.lastHadEffect
            state.lastHadEffect = !request.mayBeSentTwice
            // A body that can be read once decides about everything, a method about retries only.
            let isSettled = state.judged.map { !$0.body.isReplayable || !$0.mayBeSentTwice } ?? false
            if !isSettled || !request.body.isReplayable { state.judged = request }
            guard let host, host != state.host else { return false }
            state.host = host
            return true
        }
    }

    /// Notes the status of the response to the last request: one that the server refused had no effect, nor had one
    /// that it wants to be sent elsewhere as it is.
    func didReceive(_ statusCode: Int) {
        guard (400..<500).contains(statusCode) || statusCode == 307 || statusCode == 308 else { return }
        state.withLock { $0.lastHadEffect = false }
    }
}

/// A body that can be read once in a send, however often an interceptor runs the send.
final class SingleUseBody: BodySource {
    private let base: any BodySource
    private let isOpened = Lock(false)

    init(_ base: any BodySource) { self.base = base }

    var byteCount: Int64? { base.byteCount }
    var isReplayable: Bool { false }
    /// Whether it was read already.
    var isSpent: Bool { isOpened.withLock { $0 } }

    func makeReader() throws -> any BodyReader {
        let wasOpened = isOpened.withLock { isOpened in
            defer { isOpened = true }
            return isOpened
        }
        if wasOpened { throw NetworkError(.bodyAlreadySent) }
        return try base.makeReader()
    }
}

extension OutgoingRequest {
    /// The same request; a body that can be read once refuses to be read twice.
    var guardedAgainstReuse: OutgoingRequest {
        guard case .source(let source) = body, !source.isReplayable else { return self }
        var copy = self
        copy.body = .source(SingleUseBody(source))
        return copy
    }
}

extension OutgoingBody {
    /// Whether it can be read once, and was.
    var isSpent: Bool {
        guard case .source(let source) = self else { return false }
        return (source as? SingleUseBody)?.isSpent ?? false
    }
}

extension OutgoingRequest {
    /// The key by which a server knows the request again; `nil` if its method needs none.
    var neededIdempotencyKey: String? { method.isIdempotent ? nil : headers["Idempotency-Key"] }
}

extension PreparedRequest {
    /// Whether what goes on the wire can be something else than ``outgoing``, redirects left out.
    var mayChangeOnItsWay: Bool { login != nil || !adapters.isEmpty || !interceptors.isEmpty }
}
