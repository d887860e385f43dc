internal import Foundation

/// The validation of a stored response by the server (RFC 9111, section 4.3).
final class CacheValidation: Sendable {
    let entry: CacheEntry
    /// The header fields that make the request conditional.
    let conditions: HTTPHeaders
    /// A ticket from before the stored response was looked up.
    let ticket: CacheRemovals.Ticket
    let now: @Sendable () -> Date

    init(
        entry: CacheEntry,
        conditions: HTTPHeaders,
        ticket: CacheRemovals.Ticket,
        now: @escaping @Sendable () -> Date
    ) {
        (self.entry, self.conditions, self.ticket, self.now) = (entry, conditions, ticket, now)
    }

    /// The error if the server validated or continued another response than the stored one, so that a new one is
    /// requested.
    struct Mismatch: Error {
        /// The timing of the exchange, or `nil` if it is not known.
        let timing: ExchangeTiming?
        /// The attempts that were made, and the time spent waiting for a refresh; set by the retries.
        var attempts: [Metrics.Attempt] = []
        var authentication = Duration.zero

        init(_ response: RawResponse) { timing = response.timing }
    }

    /// Whether the request is for the missing part of the stored response (RFC 9110, section 13.1.5).
    private var isContinuation: Bool { conditions.contains("If-Range") }

    /// Returns the response of an attempt, or the updated stored response if the server validated it.
    ///
    /// - Parameters:
    ///   - response: The response of the attempt.
    ///   - prepared: The request, without the conditions.
    /// - Returns: The response of the send.
    /// - Throws: ``Mismatch``.
    @inline(never)
    func merged(_ response: RawResponse, for prepared: PreparedRequest) throws -> RawResponse {
        let (url, request) = (prepared.outgoing.url, prepared.outgoing.headers)
        let merged: CacheEntry?
        let requested = ticket.date
        switch (response.statusCode, isContinuation) {
        case (304, false):
            merged = CacheControl.merging(entry, with: response, requested: requested, received: now())
        case (206, true):
            var part = entry
            (part.statusCode, part.body, part.location) = (206, response.body, response.storedURL.absoluteString)
            part.headers = CacheControl.storedHeaders(response.headers)
            (part.requested, part.received) = (requested, now())
            merged = part.completed(by: entry)
        // The server ignores the validator, or has another content that is shorter.
        case (304, true), (416, true): throw Mismatch(response)
        // It has the missing part only, or another one.
        case (200, true), (203, true):
            guard entry.mayBeReplaced(by: response) else { throw Mismatch(response) }
            return response
        default: return response
        }
        // After a redirect, or if a hook chose another URL, another resource was compared with the conditions. If the
        // request was another user's, the stored response is not this user's. Without a note, a hook made the response.
        guard response.redirects.isEmpty, entry.isStored(for: response.storedURL), let note = response.cacheNote,
            !prepared.isOfOtherUser, var merged, var whole = merged.response(for: url, by: request)
        else {
            throw Mismatch(response)
        }
        merged.vary = CacheControl.vary(merged.headers, request: prepared.selectingHeaders(of: RequestUser(prepared)))
        // Cookies, and the fields that `no-cache` names, are for the caller of this response, and not stored.
        let unstored = CacheDirectives(response.headers).noCacheFields.filter { !CacheControl.describesContent($0) }
        let names = FieldNames(["Set-Cookie"] + unstored)
        whole.headers = HTTPHeaders(whole.headers.filter { !names.contains($0.name) })
        for field in response.headers where names.contains(field.name) { whole.headers.add(field.name, field.value) }
        whole.notes.value.redirects = response.redirects
        whole.notes.value.timing = response.timing
        whole.notes.value.declared = response.declared
        whole.notes.value.credentialVersion = response.notes.value.credentialVersion
        whole.cacheNote = note.validating(merged, since: ticket)
        return whole
    }
}
