public import Foundation

extension NetworkConfig {
    /// Returns a copy with a plain HTTP cache like a browser's: responses are stored in memory and on disk, and used
    /// as their servers allow (RFC 9111).
    ///
    /// ```swift
    /// let agent = Agent(config: NetworkConfig(baseURL: "https://api.example").withHTTPCache())
    /// ```
    ///
    /// Sets ``cache`` and ``InheritedSettings/cachePolicy``, which is ``CachePolicy/http`` afterwards. Services and requests with a policy of
    /// their own keep it. Unlike a browser's cache, it stores no response whose user it doesn't know, and none that a
    /// redirect led to.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else, which is created with the first entry, or `nil` to store in memory only.
    ///   - maximumSize: The maximum size on disk in bytes.
    /// - Returns: The config.
    public func withHTTPCache(
        in directory: URL? = ResponseCache.defaultDirectory,
        maximumSize: Int = 256 << 20
    ) -> NetworkConfig {
        var copy = self
        copy.cache =
            directory.map { ResponseCache(directory: $0, maximumSize: maximumSize) } ?? ResponseCache(disk: nil)
        copy.cachePolicy = .http
        return copy
    }
}
