internal import Foundation

/// What the cache does with a response once its model is created: it stores the response, or removes an unusable one.
struct CacheStoring: Sendable {
    let cache: ResponseCache
    let key: CacheKey
    /// The entry to store unless the request vetoes it, or `nil` if nothing is stored.
    var entry: CacheEntry?
    /// A ticket from before the request was sent.
    var ticket: ResponseCache.Ticket?
    /// Whether the response comes from the cache.
    var isHit = false
    /// Whether a response from the network follows in the same sequence.
    var isFollowed = false

    func commit() {
        guard var entry else { return }
        entry.isVetted = true
        cache.store(entry, for: key, since: ticket)
    }

    /// Removes a stored response that its request cannot use.
    ///
    /// - Throws: The error of the send if no other response may be fetched in its place.
    func discard(_ answer: AcceptedResponse, of prepared: PreparedRequest, because reason: any Error) throws {
        cache.remove(for: key)
        if case .stale(_, let failure) = answer.source { throw failure }
        if case .cacheOnly = prepared.cacheUse?.policy { throw prepared.notCached(reason) }
    }
}

extension PreparedRequest {
    /// Returns the error of a send that uses stored responses only.
    func notCached(_ reason: any Error) -> NetworkError {
        NetworkError(.notCached, underlying: reason).placed(at: outgoing.url, method: outgoing.method)
    }
}

extension CacheEntry {
    /// Creates an entry from a response to a request.
    init(_ response: RawResponse, to prepared: PreparedRequest, scope: String, requested: Date, received: Date) {
        self.init(
            response,
            method: prepared.outgoing.method,
            requested: requested,
            received: received,
            version: prepared.cacheIdentity.version,
            variant: prepared.cacheIdentity.variant,
            scope: scope
        )
        headers = CacheControl.storedHeaders(response.headers)
        vary = CacheControl.vary(response.headers, request: prepared.outgoing.headers)
    }
}

extension CachePolicy {
    /// Whether a response that was accepted and filtered may be stored.
    func allowsStoring(_ response: RawResponse, to request: HTTPHeaders) -> Bool {
        guard response.failure == nil, CacheControl.isStorable(response) else { return false }
        if case .http = self, !CacheControl.mayStore(response, request: request) { return false }
        // Without a note, an interceptor created the response, and what was sent is unknown.
        guard let note = response.cacheNote else { return CacheControl.varyNames(response.headers).isEmpty }
        // The cache key contains the fields from before they were changed.
        return !note.changesVary
    }
}

/// What an attempt records of its exchange for the cache and for coalescing.
final class CacheNote: ExchangeNote {
    /// Whether the request that was sent may belong to another user than the one that was identified; see
    /// ``IdentityCheck``.
    let isUnidentified: Bool
    /// Whether a field that the response depends on (`Vary`), other than a credential, was changed before sending.
    let changesVary: Bool
    /// The stored response that the server validated, updated; `nil` if it sent a new one.
    let validated: CacheEntry?

    init(_ prepared: PreparedRequest, sent: HTTPHeaders, response: HTTPHeaders, isUnidentified: Bool) {
        let before = prepared.outgoing.headers
        self.isUnidentified = isUnidentified
        changesVary = CacheControl.varyNames(response).contains {
            !prepared.secrets.isCredential(header: $0) && before[$0] != sent[$0]
        }
        validated = nil
    }

    private init(isUnidentified: Bool, changesVary: Bool, validated: CacheEntry?) {
        (self.isUnidentified, self.changesVary, self.validated) = (isUnidentified, changesVary, validated)
    }

    /// The note of an exchange of which nothing else is known.
    static let unidentified = CacheNote(isUnidentified: true, changesVary: true, validated: nil)

    /// The same note for an exchange whose response may belong to another user.
    var unidentified: CacheNote { CacheNote(isUnidentified: true, changesVary: changesVary, validated: validated) }

    /// Returns the same note for an exchange whose response validated a stored one.
    func validating(_ entry: CacheEntry) -> CacheNote {
        CacheNote(isUnidentified: isUnidentified, changesVary: changesVary, validated: entry)
    }
}

extension RawResponse {
    /// The note on the exchange, or `nil` if the cache doesn't need one.
    var cacheNote: CacheNote? {
        get { note as? CacheNote }
        set { note = newValue }
    }
}
