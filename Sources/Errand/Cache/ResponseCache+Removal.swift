internal import Foundation

// What was stored before a removal, or requested before by any process, does not come back (``CacheRemovals``).

extension ResponseCache {
    /// Removes the entry of a key and its variants: immediately for every lookup, on disk soon after.
    ///
    /// A response that is still being received is not stored.
    public func remove(for key: CacheKey) {
        change { state in
            state.removals.add(urlOf: key, at: state.date)
            for key in [key, key.variantIndex] { discard(key, in: &state) }
        }
    }

    /// Removes all entries for which the closure returns `true`; responses that are still being received are not stored.
    ///
    /// Cancelling the task ends the wait, not the removal.
    ///
    /// - Parameter isMeant: Called on a queue of the cache, once for each entry of each store.
    public func removeAll(where isMeant: @escaping @Sendable (StoredEntry) -> Bool) async {
        didRemove(nil)
        await remove { try $0.removeAll(among: { _ in true }, where: isMeant) }
    }

    /// Removes all entries; responses that are still being received are not stored.
    ///
    /// Lookups don't find them from the beginning of the call. Cancelling the task ends the wait for the disk, not the
    /// removal.
    public func removeAll() async {
        let date = now()
        _ = await maintain { [memory] state in
            state.changes.noteAll()
            state.removals.add(.all, at: date)
            memory?.trim(toBytes: 0)
            _ = state.pending.beginRemoving(nil)
        } _: { [self] in
            defer { state.withLock { $0.pending.endRemoving(nil) } }
            try disk?.trim(toBytes: 0)
        }
    }

    /// Removes all entries of a ``CacheIdentity/variant``; responses that are still being received are not stored.
    public func removeAll(ofVariant variant: String) async {
        await removeAll(.variant(variant)) { $0.head.variant == variant }
    }

    /// Removes all entries of a ``CacheIdentity/user``, such as one who logs out; responses that are still being
    /// received are not stored.
    public func removeAll(ofUser user: String) async {
        let user = CacheIdentity.digest(ofUser: user)
        await removeAll(.user(user)) { $0.head.user == user }
    }

    /// Removes all entries of a user, by ``CacheEntry/scope``; responses that are still being received are not stored.
    func removeAll(ofScope scope: String) async {
        await removeAll(.scope(scope)) { $0.head.scope == scope }
    }

    private func removeAll(
        _ extent: CacheRemovals.Extent,
        where isMeant: @escaping @Sendable (StoredEntry) -> Bool
    ) async {
        didRemove(extent)
        memory?.removeAll(where: isMeant)
        await remove { try $0.removeAll(among: { _ in true }, where: isMeant) }
    }

    /// Removes all entries of a URL: immediately for every lookup, on disk soon after.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - ticket: The send that does so, whose own response may be stored.
    func removeAll(ofURL url: String, by ticket: Ticket? = nil) {
        let key = CacheKey(url: url, identity: (0, 0, 0, 0))
        change { state in
            state.changes.note(key)
            state.removals.add(urlOf: key, at: state.date, by: ticket)
            memory?.removeAll(ofURLOf: key)
            guard let disk, state.pending.beginRemoving(key.group) else { return }
            // Under the lock, so that what is stored from now on is written after it.
            writes.async { [self] in
                let result = Result { try disk.removeAll(ofURLOf: key) }
                self.state.withLock { state in
                    state.pending.endRemoving(key.group)
                    if case .failure(let error) = result { state.lastFailure = error }
                }
            }
        }
    }

    /// Records a removal, so that responses still being received are not stored; `nil` is one by a condition.
    func didRemove(_ extent: CacheRemovals.Extent?) {
        change { state in
            state.changes.noteAll()
            if let extent { state.removals.add(extent, at: state.date) } else { state.removals.addUnknown() }
        }
    }

    // MARK: Removals by a send

    /// Removes the entry of a key, which is of no use to a send.
    func discard(_ key: CacheKey, by ticket: Ticket? = nil) {
        change { discard(key, by: ticket, in: &$0) }
    }

    /// Removes the entry of a key, which is of no use to a send: in memory at once, on disk soon after.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - ticket: The send, whose own response may still be stored, and the response to an earlier one may not. If it is
    ///     `nil`, any may.
    ///   - requested: An entry that was requested later than that stays; `nil` if none does.
    ///   - state: The state of the cache.
    func discard(
        _ key: CacheKey,
        by ticket: Ticket? = nil,
        unlessLaterThan requested: Int64? = nil,
        in state: inout State
    ) {
        if let requested {
            // What was requested later, but is not stored, has raised the time of a key; the entry itself may be older.
            let entry = memory?.entry(for: key) ?? state.pending.change(of: key).flatMap(\.self)
            let time = entry?.requested.microseconds ?? state.requested.time(of: key) ?? requested
            if time > requested, time <= state.date.microseconds { return }
        }
        if let ticket { state.requested.raise(key, to: ticket.date.microseconds) }
        state.changes.note(key)
        memory?.remove(for: key)
        if disk != nil { enqueue(nil, for: key, in: &state) }
    }

    /// Removes the stored response that was found, or all variants if none was; the send's own response may still be
    /// stored, and the response to an earlier one may not.
    func discard(_ place: CachePlace, by ticket: Ticket?) {
        change { discard(place, by: ticket, in: &$0) }
    }

    /// Removes the stored response that was found, or all variants if none was.
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses.
    ///   - ticket: The send.
    ///   - keepsLater: Whether a response without a variant, or the one that was found, stays if it was requested later.
    ///   - state: The state of the cache.
    func discard(_ place: CachePlace, by ticket: Ticket?, keepsLater: Bool = false, in state: inout State) {
        let requested = ticket?.date ?? state.date
        supersede(at: place, until: requested, in: &state)
        let limit = keepsLater ? requested.microseconds : nil
        discard(place.found ?? place.primary, by: ticket, unlessLaterThan: limit, in: &state)
        if place.found == nil { discardVariants(of: place.primary, by: ticket, in: &state) }
    }

    /// Removes all variants of a key; what was requested before one of them is not stored in their place.
    func discardVariants(of primary: CacheKey, by ticket: Ticket? = nil, in state: inout State) {
        raise(primary, toVariantsIn: &state)
        discard(primary.variantIndex, by: ticket, in: &state)
    }

    /// Notes that nothing is stored that was requested before the last of a key's variants, which are no longer found.
    func raise(_ primary: CacheKey, toVariantsIn state: inout State) {
        if let time = state.requested.time(of: primary.variantIndex) { state.requested.raise(primary, to: time) }
    }

    /// Removes what the response of a send makes obsolete that isn't stored itself.
    func discardObsolete(at place: CachePlace, by ticket: Ticket) {
        let requested = ticket.date.microseconds
        change { state in
            var place = place
            update(&place, supersedingUntil: ticket.date, in: &state)
            if place.isPlainRead, place.isIndexRead, place.found == nil {
                if let key = place.indexedKey { discard(key, by: ticket, unlessLaterThan: requested, in: &state) }
            } else {
                discard(place, by: ticket, keepsLater: true, in: &state)
            }
            // The response of an earlier send, which is still being received, is obsolete too.
            for key in [place.primary, place.primary.variantIndex] { state.requested.raise(key, to: requested) }
        }
    }
}

extension ResponseCache {
    /// Removes what an unsafe request may have changed: immediately for every lookup, without waiting for the disk (RFC
    /// 9111, section 4.4).
    ///
    /// - Parameters:
    ///   - targets: The URLs of the request, as identified and as sent.
    ///   - response: The response; one with an error status invalidates nothing.
    ///   - ignored: The parameters that the request ignores. Those that other requests of the process ignore are also
    ///     omitted, so that the URLs are those that responses are stored under.
    ///   - ticket: The send, whose own response may be stored, or `nil` if it is not stored in this cache.
    func invalidate(
        _ targets: [URL],
        by response: RawResponse,
        ignoring ignored: IgnoredParameters,
        ticket: Ticket?
    ) {
        guard (200..<400).contains(response.statusCode) else { return }
        var all = Set(targets)
        for target in targets {
            for name in ["Location", "Content-Location"] {
                guard let text = response.headers[name], let url = Self.sibling(at: text, of: target) else { continue }
                all.insert(url)
            }
        }
        let known = state.withLock(\.ignoredParameters)
        let lists = known.union([ignored, IgnoredParameters(names: [], nesting: .brackets)])
        let texts = all.flatMap { url in lists.map { CacheIdentification.text(of: url, without: $0) } }
        for text in Set(texts) { removeAll(ofURL: text, by: ticket) }
    }

    /// Records which parameters a request ignores, up to a number of different lists.
    ///
    /// An unsafe request invalidates the URLs without them, whatever it ignores itself.
    func noteIgnoredParameters(of prepared: PreparedRequest) {
        let ignored = prepared.ignoredParameters
        guard !ignored.isEmpty else { return }
        state.withLock { if $0.ignoredParameters.count < 64 { $0.ignoredParameters.insert(ignored) } }
    }

    /// Returns the URL that a reference leads to, spelled as in a request, or `nil` if it is of another origin.
    private static func sibling(at reference: String, of target: URL) -> URL? {
        guard let named = try? URLParts(reference: reference, relativeTo: target),
            var parts = try? URLParts(absolute: target.absoluteString), named.origin == parts.origin
        else { return nil }
        (parts.path, parts.query) = (named.path, named.query)
        return try? parts.url()
    }
}

extension PreparedRequest {
    /// Invalidates stored responses that this request, which is unsafe, may have changed, whatever the policy.
    ///
    /// - Parameters:
    ///   - response: The response, which may be a redirect.
    ///   - sent: The request that was sent.
    ///   - isFirst: Whether it was sent for the request itself and not for a redirect.
    func invalidate(by response: RawResponse, to sent: OutgoingRequest, isFirst: Bool) {
        // A request that caches any method declares that it changes nothing.
        guard !cacheIdentity.allowsAnyMethod else { return }
        var targets = [sent.url]
        // Cache keys have the URL before adapters; an interceptor's request to another path is unrelated.
        let isOwn = !outgoing.method.isSafe || sent.url.path() == outgoing.url.path()
        if isFirst, isOwn, sent.url != outgoing.url { targets.append(outgoing.url) }
        for cache in settings.config.value.allCaches {
            let ticket = cache === self.cacheUse?.cache ? response.cacheNote?.ticket : nil
            cache.invalidate(targets, by: response, ignoring: ignoredParameters, ticket: ticket)
        }
    }
}
