/// Takes the body of an accepted response in place of memory: the file of a download, or the reader of a stream.
///
/// One receiver belongs to one send, and is called by one attempt at a time.
protocol BodyReceiver: AnyObject, Sendable {
    /// The value from which the formatter makes the model, or `nil` if no body was received.
    var received: (any Sendable)? { get }

    /// Whether a failed attempt may be repeated.
    ///
    /// A reader that was given bytes must not be given them again.
    var allowsRetry: Bool { get }

    /// Whether its reader may take a long time, so that the exchange must not share its connection.
    var isStream: Bool { get }

    /// Changes a request before adapters, once for each attempt, such as by a `Range` field.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - send: The send.
    /// - Throws: An error that ends the attempt.
    func willAttempt(_ request: inout OutgoingRequest, of send: any ReceivedSend) async throws

    /// The status by which the request's ``Acceptance`` judges a response. For a part that the receiver has requested, it is
    /// the status of the complete content.
    func judgedStatus(of response: TransportResponse) -> Int

    /// Whether it takes a response that the request's ``Acceptance`` rejects, such as one to its own `Range`.
    func takesRejected(_ response: TransportResponse) -> Bool

    /// Whether the last response could not be used, although another one to the same request may be.
    ///
    /// The request is then sent again at once, which happens once for each attempt. Not an error of its own, because
    /// interceptors may replace errors.
    var wantsAnotherResponse: Bool { get }

    /// Receives a body from its first byte to its last; the exchange ends when this returns or throws.
    ///
    /// - Parameters:
    ///   - response: The response, whose body has not been read.
    ///   - head: The same response without its body, with the redirects that led to it.
    ///   - request: The request that was sent.
    ///   - send: The send.
    ///   - report: Reports progress, or `nil` if it is not observed.
    /// - Returns: The status of the response for the following stages.
    /// - Throws: An error that ends the attempt; see ``wantsAnotherResponse``.
    func receive(
        _ response: TransportResponse,
        _ head: RawResponse,
        to request: OutgoingRequest,
        of send: any ReceivedSend,
        report: ProgressReport?
    ) async throws -> Int

    /// Releases the resources of an unfinished body. Called at the end of the send, when an attempt may still run.
    func end()

    typealias ProgressReport = @Sendable (TransferProgress) async -> Void
}

extension BodyReceiver {
    var isStream: Bool { false }
    var wantsAnotherResponse: Bool { false }
    func judgedStatus(of response: TransportResponse) -> Int { response.statusCode }
}

/// The facts about a send that its receiver needs.
protocol ReceivedSend: Sendable {
    var secrets: Secrets { get }
    /// The maximum size of the body.
    var maximumBodySize: Int { get }
    /// A digest of the user for whom the request is sent, or `nil` if the user is not known.
    var userDigest: String? { get }
    /// Whether hooks, or a login on the way, have made the response another user's.
    var isOfOtherUser: Bool { get }
}

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
