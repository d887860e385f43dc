extension Agent {
    // MARK: Another policy for once

    /// Sends a request under another cache policy than its own.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - policy: Such as ``CachePolicy/cacheOnly`` to read only, or ``CachePolicy/reload`` to read nothing.
    /// - Returns: The model with the answer that it came from.
    /// - Throws: What `response(for:)` throws.
    public func response<R: Request & Sendable>(
        for request: R,
        cachePolicy policy: CachePolicy
    ) async throws -> Response<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        try await response(for: request, step: .policy(policy))
    }

    /// Sends a request under another cache policy than its own; the model is made on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - policy: Such as ``CachePolicy/cacheOnly`` to read only, or ``CachePolicy/reload`` to read nothing.
    /// - Returns: The model with the answer that it came from.
    /// - Throws: What `response(for:)` throws.
    public func response<R: Request>(
        for request: R,
        cachePolicy policy: CachePolicy
    ) async throws -> Response<R.Model> {
        let (model, answer) = try await run(request, formatting: .callerByNeed, step: .policy(policy))
        return answer.response(with: model)
    }

    // MARK: Entries of a request

    /// The name under which the answer to a request is stored.
    ///
    /// - Throws: ``CacheMiss`` when it has none, and what a send would throw before its first attempt.
    public func cacheKey<R: Request>(for request: R) throws -> CacheKey {
        let (prepared, _) = try prepareEntry(of: request)
        return try CacheIdentification(prepared, appVersion: config.cache?.appVersion ?? "").key
    }

    /// Stores an answer as if it had just come for a request, such as a part of another answer.
    ///
    /// It is not filtered, and the request is not asked: it must be what the server would have sent. Does nothing where
    /// the config has no cache.
    ///
    /// - Parameters:
    ///   - response: The answer; its date is now.
    ///   - request: Whose entry it becomes.
    /// - Throws: ``CacheMiss`` when the request's answers are not stored, and what a send would throw before its first
    ///   attempt.
    public func store<R: Request>(_ response: RawResponse, for request: R) throws {
        let (prepared, cache) = try prepareEntry(of: request)
        guard let cache else { return }
        let identification = try CacheIdentification(prepared, appVersion: cache.appVersion)
        let (scope, now) = (identification.scope, cache.now())
        let entry = CacheEntry(response, to: prepared, scope: scope, requested: now, received: now)
        cache.store(entry, for: identification.key)
    }

    /// Removes the stored answer to a request; not an error when there is none.
    ///
    /// - Throws: ``CacheMiss`` when the request's answers are not stored, and what a send would throw before its first
    ///   attempt.
    public func removeStored<R: Request>(for request: R) throws {
        let (prepared, cache) = try prepareEntry(of: request)
        guard let cache else { return }
        cache.remove(for: try CacheIdentification(prepared, appVersion: cache.appVersion).key)
    }

    private func prepareEntry<R: Request>(of request: R) throws -> (PreparedRequest, ResponseCache?) {
        let send = makeSend(request)
        do {
            return (try send.prepare(request), send.settings.config.value.cache)
        } catch {
            throw send.placing(error)
        }
    }
}

extension LoginSession {
    /// Forgets the credential, and removes the stored answers of its user.
    ///
    /// Answers that are still under way are not stored any more.
    ///
    /// - Parameter cache: Where they are.
    public func logout(clearing cache: ResponseCache) async {
        let scope = login?.scope
        logout()
        if let scope { await cache.removeAll(ofScope: CacheIdentification.digest([scope])) }
    }
}
