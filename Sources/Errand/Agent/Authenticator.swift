public import Foundation

/// Knows how a credential is shown, when it was refused, and how it is renewed.
///
/// A ``LoginSession`` holds the credential and sees to it that there is one refresh at a time:
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
    /// What is shown: a token, a pair of tokens, a session secret.
    associatedtype Credential: Sendable

    /// Whether requests to a URL get the credential.
    ///
    /// There is no default, because a credential that goes to the wrong host is lost: compare scheme and host. Asked for
    /// the final URL, after filters and adapters; what was applied is also left behind when a redirect leaves the
    /// origin.
    func appliesTo(_ url: URL) -> Bool

    /// Puts the credential on a request that is about to be sent; runs after all adapters, for each attempt anew.
    ///
    /// - Throws: What reaches the caller unchanged; nothing is sent.
    func apply(
        _ credential: Credential,
        to request: inout OutgoingRequest,
        for context: RequestContext
    ) async throws

    /// Makes a new credential from one that was refused or is about to end, and stores it where it must outlive the
    /// process.
    ///
    /// Runs in a task of the session, which no caller's cancellation ends. What it sends through the agent goes out
    /// without this credential and waits for no turn, so that it never waits for itself; a detached task in here loses
    /// that, and its requests must be ``Authorization/anonymous``. Give its requests a deadline.
    ///
    /// - Parameters:
    ///   - credential: The current one.
    ///   - agent: The agent whose send needs it.
    /// - Returns: The credential that everything shows from now on.
    /// - Throws: What all who wait receive: a ``NetworkError``, a ``ServiceError`` or a `CancellationError` as the
    ///   `underlying` error of a ``NetworkError`` whose reason is ``NetworkError/Reason/refreshFailed``, an error of
    ///   your own unchanged.
    func refresh(_ credential: Credential, with agent: Agent) async throws -> Credential

    /// Which answers mean that the credential is not taken any more: status 401 unless you say otherwise.
    var refusal: LoginRefusal { get }

    /// Whether an answer that failed means that the credential is not taken any more.
    ///
    /// Asks ``refusal`` unless you say otherwise. An answer that the request accepts is never a refusal.
    ///
    /// - Parameters:
    ///   - error: What acceptance or the response filter threw, your own filter's errors included.
    ///   - response: The answer.
    /// - Returns: Whether to renew the credential and repeat the attempt.
    func isRefusal(_ error: any Error, of response: RawResponse) -> Bool

    /// Whether a credential should be renewed before it is sent, because it ends soon; `false` unless you say otherwise.
    ///
    /// When that refresh fails, the old credential is sent and the server decides.
    func needsRefresh(_ credential: Credential) -> Bool

    /// Whose credential it is, such as a user id; the same before and after a refresh.
    ///
    /// Only its digest is kept, as part of the identity of requests, so that nothing is shared or stored across users.
    /// `nil`, the default, stands for a scope that no other login has, nor another run of the process.
    func scope(of credential: Credential) -> String?
}

extension Authenticator {
    /// Status 401.
    public var refusal: LoginRefusal { LoginRefusal() }

    /// Whether ``refusal`` names the status or the service code.
    public func isRefusal(_ error: any Error, of response: RawResponse) -> Bool {
        refusal.matches(error, of: response)
    }

    /// Never.
    public func needsRefresh(_ credential: Credential) -> Bool { false }
    /// A scope that no other login has.
    public func scope(of credential: Credential) -> String? { nil }
}

/// The statuses and service codes that mean that a credential is not taken any more.
public struct LoginRefusal: Sendable, Hashable {
    /// Statuses, whatever the body says.
    public var statusCodes: Set<Int>

    /// Codes of a ``ServiceError``, whatever the status says.
    public var serviceCodes: Set<ServiceCode>

    /// Status 401, and no service code.
    public init(statusCodes: Set<Int> = [401], serviceCodes: Set<ServiceCode> = []) {
        self.statusCodes = statusCodes
        self.serviceCodes = serviceCodes
    }

    func matches(_ error: any Error, of response: RawResponse) -> Bool {
        if statusCodes.contains(response.statusCode) { return true }
        guard let error = error as? ServiceError else { return false }
        return serviceCodes.contains(error.code)
    }
}
