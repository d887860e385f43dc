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
