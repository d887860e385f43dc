internal import Foundation

// Removals: what was stored before, or requested before by any process, does not come back (``CacheRemovals``).

extension ResponseCache {
    /// Removes the entry of a key: immediately for every lookup, on disk soon after.
    ///
    /// A response that is still being received is not stored.
    public func remove(for key: CacheKey) {
        didRemove(.key(key))
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
    public func removeAll() async { await clear() }

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
        let (group, date) = (CacheGroup(url: url), now())
        state.withLock { state in
            state.changes &+= 1
            state.removals.add(.group(group.digest), at: date, by: ticket)
            memory?.removeAll(ofGroup: group)
            guard let disk, state.pending.beginRemoving(group) else { return }
            // Under the lock, so that what is stored from now on is written after it.
            writes.async { [self] in
                let result = Result { try disk.removeAll(ofGroup: group) }
                self.state.withLock { state in
                    state.pending.endRemoving(group)
                    if case .failure(let error) = result { state.lastFailure = error }
                }
            }
        }
    }

    /// Removes everything: immediately for every lookup, then on disk.
    func clear() async {
        let date = now()
        let wait = CacheWait<Void?>()
        state.withLock { state in
            state.changes &+= 1
            state.removals.add(.all, at: date)
            memory?.trim(toBytes: 0)
            guard let disk else { return wait.finish(with: .success(nil)) }
            state.pending.beginClearing()
            // Under the lock, so that what is stored from now on is written after it.
            maintain(for: wait) { [self] in
                defer { self.state.withLock { $0.pending.endClearing() } }
                try disk.trim(toBytes: 0)
            }
        }
        // The only error is that of a cancelled task.
        _ = try? await wait.value()
    }

    /// Records a removal, so that responses still being received are not stored; `nil` is one by a condition.
    func didRemove(_ extent: CacheRemovals.Extent?) {
        let date = now()
        state.withLock { state in
            if let extent { state.removals.add(extent, at: date) } else { state.removals.addUnknown() }
        }
    }
}
