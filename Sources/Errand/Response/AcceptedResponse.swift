internal import Foundation

/// The result of the pipeline's background part: an accepted response and its payload.
///
/// Its parts are behind one reference, because each stage passes it on and they are large.
@dynamicMemberLookup
struct AcceptedResponse: Sendable {
    struct Parts: Sendable {
        var response: RawResponse
        var payload: Payload
        var source: ResponseSource = .network
        /// The metrics without the last attempt.
        var times = Metrics()
        /// The attempt that received the response, or `nil` for a cached one.
        var attempt: LastAttempt?
        /// The work of the cache after formatting, or `nil` if the send does not use the cache.
        var caching: CacheStoring?
    }

    /// The values from which the metrics of an attempt are made on demand; without the request, which has a body.
    struct LastAttempt: Sendable {
        let timing: ExchangeTiming
        let origin: Origin
        let url: URL
        let path: DeclaredPath?
    }

    private var parts: Shared<Parts>

    init(_ response: consuming RawResponse, _ payload: consuming Payload) {
        parts = Shared(Parts(response: response, payload: payload))
    }

    var metrics: Metrics {
        var metrics = parts.value.times
        if let attempt = parts.value.attempt {
            let (origin, url, path) = (attempt.origin, attempt.url, attempt.path)
            metrics.attempts.append(Metrics.Attempt(attempt.timing, origin: origin, url: url, path: path))
        }
        return metrics
    }

    /// Read in place, because both are large.
    var response: RawResponse {
        _read { yield parts.value.response }
        _modify { yield &parts.value.response }
    }
    var payload: Payload {
        _read { yield parts.value.payload }
        _modify { yield &parts.value.payload }
    }

    subscript<Part>(dynamicMember part: WritableKeyPath<Parts, Part>) -> Part {
        @inline(__always) get { parts.value[keyPath: part] }
        @inline(__always) _modify { yield &parts.value[keyPath: part] }
    }
}

/// The work of the cache once a response's model is created: it stores the response, or removes an unusable one.
struct CacheStoring: Sendable {
    let cache: ResponseCache
    let place: CachePlace
    /// The entry to store unless the request vetoes it, or `nil` if nothing is stored.
    var entry: CacheEntry?
    /// A ticket from before the request was sent.
    var ticket: CacheRemovals.Ticket?
    /// Whether the response comes from the cache.
    var isHit = false
    /// Whether a response from the network follows in the same sequence.
    var isFollowed = false

    func commit() {
        guard var entry else { return }
        entry.isVetted = true
        cache.store(entry, at: place, since: ticket)
    }
}
