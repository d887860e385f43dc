internal import Foundation

/// An interceptor that responds to challenges of Digest with a user name and a password (RFC 7616).
///
/// ```swift
/// config.interceptors.append(DigestAuthentication(user: "ada", password: "lovelace"))
/// ```
///
/// The first request to an origin is sent without a credential. If the response has status 401 and a challenge of Digest, the
/// request is sent again with one; later requests have it at once. If there are several challenges, the strongest algorithm is
/// used: SHA-256, then MD5, both also with `-sess`. The quality of protection is `auth`, or `auth-int` if the server offers
/// nothing else and the content is in memory. A stale nonce is replaced, and so is a nonce if `Authentication-Info` contains
/// the next one.
///
/// A 401 is returned if it rejects the credential itself, or if its challenge is weaker than one that the origin has accepted before: with MD5 after SHA-256, or without a quality of protection after one with it. The 500 origins used last are remembered.
///
/// The credential is only sent to the origin of the request, if ``RequestContext/allowsCredentials`` is `true`: it is computed
/// again for each redirect within the origin, and never for another origin. A request with an `Authorization` field of its own,
/// and one that is ``Authorization/anonymous``, are sent unchanged. A request whose content can be read only once is not sent
/// again.
///
/// Responses are cached and shared for the user by whose name the interceptor was created. Digest does not encrypt: use it with
/// `https`.
public final class DigestAuthentication: ExchangeInterceptor {
    private let user: String
    private let password: String
    private let makeClientNonce: @Sendable () -> String

    private struct Known {
        var session: DigestSession?
        /// The protection that the origin has accepted, also in earlier sessions.
        var proven = DigestChallenge.Protection()
    }

    /// The origins with a challenge; at least the 500 used last.
    private let origins = Lock(HostTable<Origin, Known>(limit: 1_000))

    /// The maximum number of times that a request is sent again.
    static let maximumRepeatCount = 5

    var isInnermost: Bool { false }

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - user: The name of the user, without a colon, which ends it; with one, requests fail with
    ///     ``NetworkError/Reason/unencodable(_:)``.
    ///   - password: The password.
    public convenience init(user: String, password: String) {
        self.init(user: user, password: password) {
            [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
                .map { String($0, radix: 16) }.joined(separator: "-")
        }
    }

    init(user: String, password: String, makeClientNonce: @escaping @Sendable () -> String) {
        (self.user, self.password, self.makeClientNonce) = (user, password, makeClientNonce)
    }

    /// Returns the name of the user.
    public func credentialScope(for context: RequestContext) -> String? { "digest user \(user)" }

    func credentialScope(of request: OutgoingRequest, isRedirected: Bool) -> String? { "digest user \(user)" }

    /// Sends a request, and once more if its response has a challenge; at most five times while the nonce was stale.
    ///
    /// In a send it is called for each exchange, inside of all other interceptors.
    public func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        guard context.allowsCredentials, !request.headers.contains("Authorization"),
            let parts = try URLParts(absolute: request.url.absoluteString)
        else { return try await next(request) }
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw Authorization.colonInUserName(of: "Digest", source: "RFC 7616, section 4")
        }
        let origin = parts.origin
        let target = (parts.path.isEmpty ? "/" : parts.path) + (parts.query.map { "?\($0)" } ?? "")
        func authorize(_ session: DigestSession?) -> (request: OutgoingRequest, nonce: String)? {
            let value = session?.authorization(method: request.method, target: target, body: request.body.data)
            guard let session, let value else { return nil }
            var copy = request
            copy.headers["Authorization"] = value
            return (copy, session.nonce)
        }
        func exchange(
            _ sent: (request: OutgoingRequest, nonce: String)?,
            of session: DigestSession?
        ) async throws
            -> RawResponse
        {
            guard let sent, let session else { return try await next(request) }
            // A download or a stream may be interrupted, and the server has accepted the nonce before.
            let body = context.beginning?.observe { [self] in
                settle($0, of: session, after: sent.nonce, for: origin)
            }
            defer { if let body { context.beginning?.remove(body) } }
            return try await next(sent.request)
        }
        var (session, isProven) = take(for: origin)
        var sent = authorize(session)
        var response = try await exchange(sent, of: session)
        for _ in 0..<Self.maximumRepeatCount where response.statusCode == 401 {
            let least = origins.withLock { $0[origin]?.proven ?? DigestChallenge.Protection() }
            guard let challenge = DigestChallenge.strongest(of: response.challenges, atLeast: least) else {
                response.notes.value.rejection = DigestChallenge.words(forUnsupported: response.challenges)
                break
            }
            guard request.body.isReplayable else {
                response.notes.value.rejection = "; Digest cannot respond, because the content can be read only once"
                break
            }
            // Another challenge with the same user is a rejection, unless only the nonce is no longer valid.
            guard sent == nil || challenge.isStale || isProven && challenge.nonce != sent?.nonce else { break }
            session = begin(challenge, after: session, for: origin)
            isProven = false
            sent = authorize(session)
            guard sent != nil else { return response }
            response = try await exchange(sent, of: session)
        }
        if sent != nil, response.statusCode == 401, response.notes.value.rejection == nil {
            response.notes.value.rejection = "; Digest responded to the challenge, and was rejected"
        }
        if let sent, let session { settle(response, of: session, after: sent.nonce, for: origin) }
        return response
    }

    /// Returns the session of an origin for one request, and whether the server has accepted it before.
    private func take(for origin: Origin) -> (session: DigestSession?, isProven: Bool) {
        origins.withLock { origins in
            guard origins[origin] != nil else { return (nil, false) }
            return origins.change(origin, default: Known()) { state in
                defer { state.session?.skip() }
                return (state.session, state.session?.isProven ?? false)
            }
        }
    }

    /// Begins a session, and returns it for its first request.
    private func begin(_ challenge: DigestChallenge, after last: DigestSession?, for origin: Origin) -> DigestSession {
        let new = DigestSession(challenge, user: user, password: password, clientNonce: makeClientNonce())
        return origins.withLock { origins in
            origins.change(origin, default: Known()) { state in
                // Another send may have begun with the same nonce: a count of it is used once.
                var last = last
                last?.skip()
                let known = [state.session, last].compactMap(\.self)
                var session =
                    known.first { $0.nonce == challenge.nonce && $0.challenge.isLike(challenge) } ?? new
                defer {
                    session.skip()
                    state.session = session
                }
                return session
            }
        }
    }

    /// Records whether the server has accepted a nonce, and the next one.
    private func settle(_ response: RawResponse, of used: DigestSession, after nonce: String, for origin: Origin) {
        let next = response.headers["Authentication-Info"].flatMap {
            AuthenticationChallenge.parameters(in: $0)["nextnonce"]
        }
        origins.withLock { origins in
            guard origins[origin] != nil else { return }
            origins.change(origin, default: Known()) { state in
                let isProven = response.statusCode != 401
                if isProven { state.proven.formUnion(used.challenge.protection) }
                guard state.session?.nonce == nonce else { return }
                guard isProven else {
                    state.session = nil
                    return
                }
                state.session?.isProven = true
                if let next, DigestChallenge.isSendable(next) { state.session?.nonce = next }
            }
        }
    }
}
