internal import Foundation

extension Agent {
    /// Returns the key that the response to a request is stored under.
    ///
    /// - Throws: ``CacheMiss`` if it has none, and the errors that a send would throw before its first attempt.
    public func cacheKey<R: Request>(for request: R) throws -> CacheKey {
        try prepareEntry(of: request).identification.key
    }

    /// Stores a response as if it had just been received for a request, such as a part of another response.
    ///
    /// It is not filtered, and the request's members are not called, so it must be what the server would have sent. If the
    /// config has no cache, this method does nothing.
    ///
    /// - Parameters:
    ///   - response: The response; it is stored with the current date.
    ///   - request: The request whose entry it becomes.
    /// - Returns: The write to disk, which can be awaited, or `nil` if the config has no cache.
    /// - Throws: ``CacheMiss`` if the request's responses are not stored, and the errors that a send would throw before
    ///   its first attempt.
    @discardableResult
    public func store<R: Request>(_ response: RawResponse, for request: R) throws -> CacheWrite? {
        let (prepared, cache, identification) = try prepareEntry(of: request)
        guard let cache else { return nil }
        let ticket = cache.ticket
        var response = response
        // It belongs to another request.
        response.notes.value.note = nil
        // A response that depends on everything would never be used.
        if CacheControl.varyNames(response.headers).contains("*") { throw CacheMiss.varyMismatch }
        var entry = CacheEntry(
            response,
            to: prepared,
            as: identification,
            requested: ticket.date,
            received: ticket.date
        )
        // It is validated at the request's own URL.
        if response.redirects.isEmpty { entry.location = prepared.outgoing.url.absoluteString }
        cache.noteIgnoredParameters(of: prepared)
        let write = CacheWrite()
        cache.store(entry, at: identification.place, since: ticket, reportingTo: write)
        return write
    }

    /// Removes the stored response to a request, if there is one, with all its variants.
    ///
    /// - Throws: ``CacheMiss`` if the request's responses are not stored, and the errors that a send would throw before
    ///   its first attempt.
    public func removeStored<R: Request>(for request: R) throws {
        let (_, cache, identification) = try prepareEntry(of: request)
        cache?.remove(for: identification.key)
    }

    private func prepareEntry<R: Request>(
        of request: R
    ) throws -> (prepared: PreparedRequest, cache: ResponseCache?, identification: CacheIdentification) {
        let send = makeSend(request)
        do {
            let prepared = try send.prepare(request, step: .policy(.reload))
            let cache = prepared.settings.cache
            var user = RequestUser(prepared)
            if !user.fields.isEmpty { user.secret = cache?.secret.value ?? CacheSecret.ofProcess }
            let version = cache?.appVersion ?? ""
            return (prepared, cache, try CacheIdentification(prepared, of: user, appVersion: version))
        } catch {
            throw send.withContext(error)
        }
    }
}

extension AuthenticationSession {
    /// Removes the credential and the stored responses of its user.
    ///
    /// Responses that are still being received are not stored.
    ///
    /// - Parameter cache: The cache that contains the responses.
    public func logout(clearing cache: ResponseCache) async {
        let scope = currentCredential?.scope
        logout()
        if let scope, !scope.isEmpty { await cache.removeAll(ofScope: CacheIdentification.digest([scope])) }
    }
}
