/// What the background part of the pipeline returns to the caller: an accepted response and its payload.
///
/// Its parts are behind one reference, because each stage passes it on and they are large.
@dynamicMemberLookup
struct AcceptedResponse: Sendable {
    struct Parts: Sendable {
        var response: RawResponse
        var payload: Payload
        var source: Source = .network
        var metrics = Metrics()
        /// What the cache does after formatting, or `nil` if the send does not use the cache.
        var caching: CacheStoring?
    }

    private var parts: Shared<Parts>

    init(_ response: RawResponse, _ payload: consuming Payload) {
        parts = Shared(Parts(response: response, payload: payload))
    }

    subscript<Part>(dynamicMember part: WritableKeyPath<Parts, Part>) -> Part {
        @inline(__always) get { parts.value[keyPath: part] }
        @inline(__always) _modify { yield &parts.value[keyPath: part] }
    }
}
