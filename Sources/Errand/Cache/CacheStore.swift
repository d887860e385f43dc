/// A type that keeps the entries of a ``ResponseCache``, such as ``DiskStore``, ``MemoryStore`` or one of your own.
///
/// Except for ``didUse(_:)``, it is called on queues of the cache, never on a caller's thread, by one writer at a time and
/// by up to four readers at the same time, and may block. Use ``CacheEntry/data(for:)`` to encode an entry. An error never fails a request.
public protocol CacheStore: Sendable {
    /// Returns the entry of a key, or `nil` if there is none.
    ///
    /// - Throws: ``CacheMiss`` or another error if there is an entry that cannot be used; the store should remove it.
    func entry(for key: CacheKey) throws -> CacheEntry?

    /// Stores an entry, replacing any that the key has.
    func store(_ entry: CacheEntry, for key: CacheKey) throws

    /// Removes the entry of a key, if there is one.
    ///
    /// - Throws: An error if it could not be removed; the store must not return it any more.
    func remove(for key: CacheKey) throws

    /// Visits all entries, and removes those for which a closure returns `true`.
    ///
    /// - Parameters:
    ///   - keys: Returns whether an entry is visited at all. It is called first, because it costs less.
    ///   - isMeant: Returns whether an entry is removed.
    /// - Throws: An error if not all entries could be visited or removed.
    func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws

    /// Removes all entries of the URL of a key; the default visits all entries.
    func removeAll(ofURLOf key: CacheKey) throws

    /// Removes the least recently used entries until their size is at most `limit` bytes.
    func trim(toBytes limit: Int) throws

    /// Returns the number of entries, and their size in bytes.
    func totals() throws -> (count: Int, size: Int)

    /// Makes an entry the most recently used, without reading it, because it was found in memory.
    ///
    /// It is called on the caller's thread, and must not block. The default does nothing.
    func didUse(_ key: CacheKey)
}

extension CacheStore {
    /// Does nothing, which is the default.
    public func didUse(_ key: CacheKey) {}

    /// Visits all entries, which is the default.
    public func removeAll(ofURLOf key: CacheKey) throws {
        try removeAll(among: { $0.hasSameURL(as: key) }, where: { _ in true })
    }
}

extension CacheKey {
    /// Returns whether two keys are of the same URL, whatever their method, variant and user.
    public func hasSameURL(as other: CacheKey) -> Bool { group == other.group }
}

/// The cache in which the responses of a request or a service are stored.
///
/// The ``CachePolicy`` decides when it is used. An unsafe request, such as a POST, invalidates the entries of its URL in all
/// caches of the config.
///
/// In a request, write `var cacheStorage: CacheStorage { .memoryOnly }`.
public enum CacheStorage: Sendable, Hashable, CustomStringConvertible {
    /// Uses the service's storage, then ``standard``.
    case inherited
    /// The cache of the config, ``NetworkConfig/cache``.
    case standard
    /// The cache of the config; responses are stored in its memory and never on disk.
    ///
    /// A stored response of an equal request with another storage is used if there is one, and is removed from the disk when
    /// it is replaced.
    case memoryOnly
    /// One of ``NetworkConfig/namedCaches``, such as for images, with limits of its own.
    ///
    /// If the config has no cache of this name, nothing is stored.
    case named(String)

    /// A description of the storage.
    public var description: String {
        switch self {
        case .inherited: "inherited"
        case .standard: "the config's cache"
        case .memoryOnly: "the config's cache, in memory only"
        case .named(let name): "the cache '\(name)'"
        }
    }
}
