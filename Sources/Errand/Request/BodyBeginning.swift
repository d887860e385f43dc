/// Notifies the interceptors of a send that its response is accepted and its body is about to be received.
///
/// They receive the response itself only after a download or a stream has ended, which may take hours.
final class BodyBeginning: Sendable {
    /// The closure of one interceptor for one request.
    final class Observation: Sendable {
        private let begin: @Sendable (RawResponse) -> Void
        private let state = Lock(false)

        fileprivate init(_ begin: @escaping @Sendable (RawResponse) -> Void) { self.begin = begin }

        /// Whether the body has begun.
        var hasBegun: Bool { state.withLock { $0 } }

        fileprivate func notify(_ response: RawResponse) {
            let hasBegun = state.withLock { hasBegun in
                defer { hasBegun = true }
                return hasBegun
            }
            if !hasBegun { begin(response) }
        }
    }

    /// Whether the body is a stream, whose end does not count as the end of an exchange for its host.
    let isStream: Bool
    private let observations = Lock<[Observation]>([])

    init(isStream: Bool) { self.isStream = isStream }

    /// Calls a closure with the header section of the response when the body begins, until ``remove(_:)``.
    func observe(_ begin: @escaping @Sendable (RawResponse) -> Void) -> Observation {
        let observation = Observation(begin)
        observations.withLock { $0.append(observation) }
        return observation
    }

    func remove(_ observation: Observation) { observations.withLock { $0.removeAll { $0 === observation } } }

    func notify(_ response: RawResponse) {
        for observation in observations.withLock({ $0 }) { observation.notify(response) }
    }
}
