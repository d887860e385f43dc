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

    /// Removes the least recently used entries until their size is at most `limit` bytes, on disk and in memory each.
    public func trim(toBytes limit: Int) async { await remove { try $0.trim(toBytes: limit) } }
}
