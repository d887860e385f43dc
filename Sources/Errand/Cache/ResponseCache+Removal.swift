internal import Foundation

// What was stored before a removal, or requested before by any process, does not come back (``CacheRemovals``).

extension ResponseCache {
    /// Removes the entry of a key: immediately for every lookup, on disk soon after.
    ///
    /// A response that is still being received is not stored.
    public func remove(for key: CacheKey) {
        let date = now()
        state.withLock { $0.removals.add(urlOf: key, at: date) }
        discard(key)
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
            state.changes &+= 1
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
    func removeAll(ofURL url: String, by ticket: CacheRemovals.Ticket? = nil) {
        let (key, date) = (CacheKey(url: url, identity: (0, 0, 0, 0)), now())
        state.withLock { state in
            state.changes &+= 1
            state.removals.add(urlOf: key, at: date, by: ticket)
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
        let date = now()
        state.withLock { state in
            if let extent { state.removals.add(extent, at: date) } else { state.removals.addUnknown() }
        }
    }
}
