public import Foundation

/// A type that applies a credential to requests, detects unauthorized responses, and refreshes the credential.
///
/// An ``AuthenticationSession`` holds the credential and runs one refresh at a time:
///
/// ```swift
/// struct Tokens: Authenticator {
///     func appliesTo(_ url: URL) -> Bool { url.scheme == "https" && url.host() == "api.example" }
///     func apply(_ token: Token, to request: inout OutgoingRequest, for context: RequestContext) {
///         request.headers["Authorization"] = "Bearer \(token.access)"
///     }
///     func refresh(_ token: Token, with agent: Agent) async throws -> Token {
///         try await agent.send(RefreshToken(refresh: token.refresh))
///     }
///     func scope(of token: Token) -> String? { token.userID }
/// }
/// ```
public protocol Authenticator<Credential>: Sendable {
    /// The type of the credential, such as a token, a pair of tokens or a session secret.
    associatedtype Credential: Sendable

    /// Returns whether requests to a URL are sent with the credential.
    ///
    /// There is no default, because a credential that is sent to the wrong host is disclosed: compare scheme and host.
    /// It is called with the final URL, after filters and adapters, and with one that an interceptor chose in its place. A
    /// redirect that leaves the origin removes the header fields that were applied, and is rejected if the body was changed.
    func appliesTo(_ url: URL) -> Bool

    /// Adds the credential to a request that is about to be sent, for each attempt, after all adapters.
    ///
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func apply(
        _ credential: Credential,
        to request: inout OutgoingRequest,
        for context: RequestContext
    ) async throws

    /// Returns a new credential in place of one that was rejected or is about to expire, and stores it if it must
    /// outlive the process.
    ///
    /// Runs in a task of the session, which is not cancelled if a caller is. Requests that it sends through the agent
    /// are sent without this credential and do not wait for the limiter, so that the refresh never waits for itself. In
    /// a detached task this does not apply, and requests must be ``Authorization/anonymous``. Give its requests a
    /// deadline.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - agent: The agent whose send needs it.
    /// - Returns: The credential of all requests from now on.
    /// - Throws: The error for all sends that wait. A ``NetworkError``, a ``ServiceError`` or a `CancellationError` becomes the
    ///   `underlying` error of a ``NetworkError`` whose reason is ``NetworkError/Reason/refreshFailed`` and whose kind is
    ///   ``NetworkError/Kind/unauthenticated``, or the kind of a network failure; any other error is thrown unchanged.
    func refresh(_ credential: Credential, with agent: Agent) async throws -> Credential

    /// The responses that mean that the credential is no longer accepted. The default is status 401.
    var unauthorizedResponse: UnauthorizedResponse { get }

    /// Returns whether a failed response means that the credential is no longer accepted.
    ///
    /// The default uses ``unauthorizedResponse``. Called for a response that the request's ``Acceptance`` rejects, and for an
    /// accepted one that the filter turns into an error.
    ///
    /// - Parameters:
    ///   - error: The error of acceptance or of the response filter, which may be one of your own.
    ///   - response: The response.
    /// - Returns: Whether to refresh the credential and repeat the attempt.
    func isUnauthorized(_ error: any Error, of response: RawResponse) -> Bool

    /// Returns whether a credential should be refreshed before it is sent, because it expires soon. The default is
    /// `false`.
    ///
    /// If that refresh fails, the old credential is sent and the server decides; the next one starts after the duration of the
    /// ``RefreshWindow``, unless a server rejects the credential. If the new credential should be refreshed at once too,
    /// because its lifetime is shorter than the time ahead of its end, it is sent until a server rejects it.
    func needsRefresh(_ credential: Credential) -> Bool

    /// Returns the identity of the credential's user, such as a user ID, which must be the same before and after a
    /// refresh.
    ///
    /// Only its digest is kept. It becomes part of the identity of a request, so that no response is stored or shared across
    /// users. Users of two authenticators may have equal identities if the authenticators differ in type, belong to two
    /// services, or are structs that differ in a value. The properties of a class don't count: if its instances are for several
    /// tenants, the identity has to contain the tenant. With `nil`, the default, the scope is unique to this login in this
    /// process.
    func scope(of credential: Credential) -> String?
}

/// An authenticator whose credential depends on the response that rejected a request, such as on a realm, a scope, a nonce
/// or a session ID in it.
///
/// Without a credential, requests are sent without one. The first unauthorized response then starts a refresh, for all sends
/// that receive one meanwhile, and each of them is repeated with the credential that it returns:
///
/// ```swift
/// struct RegistryTokens: ChallengeAuthenticator {
///     func appliesTo(_ url: URL) -> Bool { url.scheme == "https" && url.host() == "registry.example" }
///     func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
///         request.headers["Authorization"] = "Bearer \(token)"
///     }
///     func refresh(_ token: String?, after response: RawResponse?, with agent: Agent) async throws -> String {
///         let challenge = response?.challenges.first { $0.isScheme("Bearer") }
///         let request = GeneralRequest("/token").query(["scope": challenge?["scope"]])
///         return try await agent.send(request.expecting(String.self, at: "token"))
///     }
///     func scope(of token: String) -> String? { "anonymous" }
/// }
/// ```
///
/// The response to a send that began without a credential and was repeated with one is neither stored nor shared.
public protocol ChallengeAuthenticator<Credential>: Authenticator {
    /// Returns the credential for a response that rejected a request.
    ///
    /// Runs like ``Authenticator/refresh(_:with:)``, which is not called for this authenticator. If an unauthorized response
    /// should reach the caller unchanged, return `false` from ``Authenticator/isUnauthorized(_:of:)``; an error that is thrown
    /// here reaches all sends that wait.
    ///
    /// - Parameters:
    ///   - credential: The current credential, or `nil` if there is none.
    ///   - response: The response that rejected the request, or `nil` if the credential is refreshed before it is sent.
    ///   - agent: The agent whose send needs it.
    /// - Returns: The credential of all requests from now on.
    /// - Throws: The error for all sends that wait, as described for ``Authenticator/refresh(_:with:)``.
    func refresh(
        _ credential: Credential?,
        after response: RawResponse?,
        with agent: Agent
    ) async throws -> Credential
}

extension ChallengeAuthenticator {
    /// Refreshes the credential without a response.
    public func refresh(_ credential: Credential, with agent: Agent) async throws -> Credential {
        try await refresh(credential, after: nil, with: agent)
    }
}

extension Authenticator {
    /// Status 401.
    public var unauthorizedResponse: UnauthorizedResponse { UnauthorizedResponse() }

    /// Returns whether ``unauthorizedResponse`` contains the status or the service code.
    public func isUnauthorized(_ error: any Error, of response: RawResponse) -> Bool {
        unauthorizedResponse.matches(error, of: response)
    }

    /// Returns `false`.
    public func needsRefresh(_ credential: Credential) -> Bool { false }
    /// Returns `nil`, for a scope that is unique to the login.
    public func scope(of credential: Credential) -> String? { nil }
}

/// The statuses and service codes that mean that a credential is no longer accepted.
public struct UnauthorizedResponse: Sendable, Hashable {
    /// The status codes that reject a credential, whatever the body contains, unless the request's ``Acceptance`` accepts them.
    public var statusCodes: Set<Int>

    /// The codes of a ``ServiceError`` that reject a credential, whatever the status.
    public var serviceCodes: Set<ServiceCode>

    /// Creates the set; by default, status 401 and no service code.
    public init(statusCodes: Set<Int> = [401], serviceCodes: Set<ServiceCode> = []) {
        self.statusCodes = statusCodes
        self.serviceCodes = serviceCodes
    }

    func matches(_ error: any Error, of response: RawResponse) -> Bool {
        let isRejected = response.failure?.isAboutStatus ?? (error as? NetworkError)?.isAboutStatus ?? false
        if isRejected, statusCodes.contains(response.statusCode) { return true }
        guard let error = error as? ServiceError else { return false }
        return serviceCodes.contains(error.code)
    }
}
