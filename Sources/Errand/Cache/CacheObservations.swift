/// What a cache has learned from the requests of this process.
final class CacheObservations: Sendable {
    private static let maximumCount = 64
    private let lists = Lock<Set<IgnoredParameters>>([])

    /// The lists of parameters that requests ignore, of which responses may be stored under URLs without them.
    ///
    /// An unsafe request invalidates all these URLs, whatever it ignores itself.
    var ignoredParameters: Set<IgnoredParameters> { lists.withLock { $0 } }

    /// Records which parameters a request ignores, up to a number of different lists.
    func addIgnoredParameters(_ parameters: IgnoredParameters) {
        guard !parameters.isEmpty else { return }
        lists.withLock { if $0.count < Self.maximumCount { $0.insert(parameters) } }
    }
}
