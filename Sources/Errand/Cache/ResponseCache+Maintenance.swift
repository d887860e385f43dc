internal import Foundation

extension ResponseCache {
    /// How many bytes the entries on disk take, or those in memory where there is no disk.
    ///
    /// Counted once, in the background, and kept up to date; 0 if the task is cancelled while it is counted.
    public var size: Int { get async { await totals.size } }

    /// How many entries there are on disk, or in memory where there is no disk.
    public var count: Int { get async { await totals.count } }

    private var totals: CacheTotals {
        get async {
            guard let disk else { return memory?.totals() ?? CacheTotals() }
            return await maintain(isReading: true) { try disk.totals() } ?? CacheTotals()
        }
    }

    /// All entries without their bodies, in no order; each is read, which takes some 10 µs.
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

    /// Removes all entries for which the closure says so.
    ///
    /// Cancelling the task ends the wait, not the removal.
    ///
    /// - Parameter isMeant: Called on a queue of the cache, once for each entry of each store.
    public func removeAll(where isMeant: @escaping @Sendable (StoredEntry) -> Bool) async {
        await remove { try $0.removeAll(among: { _ in true }, where: isMeant) }
    }

    /// Removes all entries; answers still under way are not stored.
    ///
    /// No look-up finds them from the beginning of the call on. Cancelling the task ends the wait for the disk, not the
    /// removal.
    public func removeAll() async { await clear() }

    /// Removes all entries of a ``CacheIdentity/variant``, such as those of a user who logs out.
    public func removeAll(ofVariant variant: String) async {
        await removeAll { $0.head.variant == variant }
    }

    /// Removes all entries of a user, known by ``CacheEntry/scope``; answers still under way are not stored.
    func removeAll(ofScope scope: String) async {
        willClear(scope: scope)
        memory?.removeAll { $0.head.scope == scope }
        await removeAll { $0.head.scope == scope }
    }

    /// Removes what an unsafe request may have changed: at once for every look-up, without waiting for the disk
    /// (RFC 9111, section 4.4).
    ///
    /// - Parameters:
    ///   - targets: Where it was sent to, as identified and as sent.
    ///   - response: What it was answered; one that reports an error invalidates nothing.
    func invalidate(_ targets: [URL], by response: RawResponse) {
        guard (200..<400).contains(response.statusCode) else { return }
        var all = Set(targets.map(\.absoluteString))
        for target in targets {
            for name in ["Location", "Content-Location"] {
                guard let text = response.headers[name],
                    let url = URL(string: text, relativeTo: target)?.absoluteURL, url.origin == target.origin
                else { continue }
                all.insert(url.absoluteString)
            }
        }
        for url in all { removeAll(ofURL: url) }
    }

    /// Removes the least recently used entries until at most so many bytes are left, on disk and in memory each.
    public func trim(toBytes limit: Int) async { await remove { try $0.trim(toBytes: limit) } }
}
