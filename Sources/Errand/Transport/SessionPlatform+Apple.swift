#if !canImport(FoundationNetworking)
internal import Foundation

/// How URLSession of Apple platforms has to be used.
enum SessionPlatform {
    /// A timeout that never comes, in seconds: a year.
    static let never: TimeInterval = 31_536_000

    /// Where callbacks are called; `nil` lets the session make a serial queue.
    static func delegateQueue() -> OperationQueue? { nil }

    /// What a challenge is answered with: the system validates certificates, and any other challenge is left to the
    /// response with its 401 or 407.
    static func disposition(for challenge: URLAuthenticationChallenge) -> URLSession.AuthChallengeDisposition {
        let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
        return isTrust ? .performDefaultHandling : .rejectProtectionSpace
    }

    /// Whether a redirect may be answered: each must be.
    static func mayAnswerRedirect(of exchange: SessionExchange?) -> Bool { true }

    /// States the length of a body that is sent as a stream.
    static func state(_ byteCount: Int64, in request: inout URLRequest) {
        request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
    }
}

extension OutgoingRequest {
    /// Whether the request needs a connection of its own; the system never sends a request that is not idempotent again.
    var needsNewConnection: Bool { false }

    /// The body if it is in memory, or `nil` if it is sent as a stream.
    func dataForSession() -> Data? { body.isEmpty ? nil : body.data }
}
#endif
