internal import Foundation

/// What an attempt records of its exchange for the cache and for coalescing.
final class CacheNote: ExchangeNote {
    /// The number of the send.
    let send: Int
    /// The header fields that were sent, without the fields that exchange interceptors add.
    let sent: HTTPHeaders
    /// A ticket from before the request was sent, which another send may have done, and from before the validated response
    /// was looked up; `nil` if the cache is not used.
    let ticket: CacheRemovals.Ticket?
    /// The stored response that the server validated, updated; `nil` if it sent a new one.
    let validated: CacheEntry?

    /// Creates the note of an exchange.
    init(send: Int, sent: HTTPHeaders, ticket: CacheRemovals.Ticket?, validated: CacheEntry? = nil) {
        (self.send, self.sent, self.ticket, self.validated) = (send, sent, ticket, validated)
    }

    /// Returns the same note for an exchange whose response validated a stored one, which was looked up after a ticket.
    func validating(_ entry: CacheEntry, since lookup: CacheRemovals.Ticket) -> CacheNote {
        let ticket = ticket?.noLater(than: lookup, includesURL: true) ?? lookup
        return CacheNote(send: send, sent: sent, ticket: ticket, validated: entry)
    }

    /// Whether one of these fields was changed before sending, so that its value isn't known when a response that depends
    /// on it is looked up.
    ///
    /// A credential of the known user may change, but not cookies, which may be about anything.
    func isChanged(_ names: [String], since prepared: PreparedRequest) -> Bool {
        lazy var user = RequestUser(prepared)
        return names.contains { name in
            if name == "cookie", !prepared.exchangeInterceptors.isEmpty, user.isNamed { return true }
            guard sent[name] != prepared.outgoing.headers[name] else { return false }
            return name == "cookie" || !prepared.secrets.isCredential(header: name) || user.isAnyone
        }
    }
}

extension RawResponse {
    /// The note on the exchange, or `nil` if the cache doesn't need one.
    var cacheNote: CacheNote? {
        get { notes.value.note as? CacheNote }
        set { notes.value.note = newValue }
    }
}

extension PreparedRequest {
    /// Whether its responses are never written to disk.
    var storesInMemoryOnly: Bool { settings.cacheStorage.value == .memoryOnly }

    /// Returns the error of a send that uses stored responses only.
    func notCached(_ reason: any Error) -> NetworkError {
        NetworkError(.notCached, underlying: reason).with(request: outgoing)
    }
}

extension CacheEntry {
    /// Creates an entry from a response to a request.
    init(
        _ response: RawResponse,
        to prepared: PreparedRequest,
        as identification: CacheIdentification,
        requested: Date,
        received: Date
    ) {
        self.init(
            response,
            method: prepared.outgoing.method,
            requested: requested,
            received: received,
            version: prepared.cacheIdentity.version,
            variant: prepared.cacheIdentity.variant,
            scope: identification.scope
        )
        user = CacheIdentity.digest(ofUser: prepared.cacheIdentity.user)
        isMemoryOnly = prepared.storesInMemoryOnly
        headers = CacheControl.storedHeaders(response.headers)
        vary = CacheControl.vary(response.headers, request: identification.selecting)
    }
}

extension CachePolicy {
    /// Whether a response that was accepted and filtered may be stored.
    func allowsStoring(_ response: RawResponse, to prepared: PreparedRequest) -> Bool {
        let fields = prepared.outgoing.headers
        guard response.failure == nil, CacheControl.isStorable(response, request: fields) else { return false }
        if case .http = self, !CacheControl.mayStore(response, request: fields) { return false }
        return Self.knowsVary(response.headers, response.cacheNote, of: prepared)
    }

    /// Whether a stored response may be kept once the server has validated it, which updated its header fields.
    func allowsKeeping(_ entry: CacheEntry, _ note: CacheNote?, of prepared: PreparedRequest) -> Bool {
        if case .http = self, CacheControl.forbidsStoring(entry) { return false }
        return !CacheControl.varyNames(entry.headers).contains("*")
            && Self.knowsVary(entry.headers, note, of: prepared)
    }

    /// Whether the fields that a response depends on will be known when it is looked up.
    private static func knowsVary(_ headers: HTTPHeaders, _ note: CacheNote?, of prepared: PreparedRequest) -> Bool {
        let names = CacheControl.varyNames(headers)
        // Without a note, an interceptor created the response, and what was sent is unknown.
        guard let note else { return names.isEmpty }
        // The cache key contains the fields from before they were changed.
        return !note.isChanged(names, since: prepared)
    }
}
