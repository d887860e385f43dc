extension ResponseCache {
    /// The number of bytes of the entries on disk, or in memory if the cache has no disk store.
    ///
    /// They are counted once, in the background, then updated; the value is 0 if the task is cancelled during the
    /// count.
    public var size: Int { get async { await totals.size } }

    /// The number of entries on disk, or in memory if the cache has no disk store.
    public var count: Int { get async { await totals.count } }

    private var totals: CacheTotals {
        get async {
            guard let disk else { return memory?.totals() ?? CacheTotals() }
            return await maintain(isReading: true) { try disk.totals() } ?? CacheTotals()
        }
    }

    /// All entries without their bodies, in no particular order; reading one takes some 10 µs.
    public var entries: [StoredEntry] {
        get async {
            let found = Lock([StoredEntry]())
            let store: (any CacheStore)? = disk ?? memory
            _ = await maintain(isReading: true) {
                try store?.removeAll(among: { _ in true }) { entry in
                    found.withLock { $0.append(entry) }
                    return false
                }
            }
            return found.withLock { $0 }
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

    /// Removes the least recently used entries until their size is at most `limit` bytes, on disk and in memory each.
    public func trim(toBytes limit: Int) async { await remove { try $0.trim(toBytes: limit) } }
}
