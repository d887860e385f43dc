/// What a cache has learned from the requests of this process.
final class CacheObservations: Sendable {
    private struct State {
        var ignoredParameters: Set<IgnoredParameters> = []
        var untrustedHooks: Set<String> = []
    }

    private static let maximumCount = 64
    private let state = Lock(State())

    /// The lists of parameters that requests ignore, of which responses may be stored under URLs without them.
    ///
    /// An unsafe request invalidates all these URLs, whatever it ignores itself.
    var ignoredParameters: Set<IgnoredParameters> { state.withLock { $0.ignoredParameters } }

    /// Records which parameters a request ignores, up to a number of different lists.
    func addIgnoredParameters(_ parameters: IgnoredParameters) {
        guard !parameters.isEmpty else { return }
        state.withLock { if $0.ignoredParameters.count < Self.maximumCount { $0.ignoredParameters.insert(parameters) } }
    }

    /// The types of adapters and interceptors without a scope that have made a response that of an unknown user.
    ///
    /// An interceptor can't be asked what it would add before a stored response is used. One that has added a credential
    /// to a request may do so again.
    var untrustedHooks: Set<String> { state.withLock { $0.untrustedHooks } }

    /// Records such types.
    func addUntrustedHooks(_ hooks: [String]) { state.withLock { $0.untrustedHooks.formUnion(hooks) } }
}
