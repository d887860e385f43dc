public import Foundation

// The hooks of the config and services for each request, besides interceptors.

/// A type that changes the URL of a request after it was joined with the base URL and before its parameters are added.
///
/// The config's filters run in their order, then the service's; each receives the previous one's result.
///
/// A filter that adds a credential, such as `token`, adds it only if ``RequestContext/allowsCredentials`` is `true`. If the
/// final URL has another origin, query pairs that ``Secrets/queryNames`` names are removed unless the request had them.
public protocol URLFilter: Sendable {
    /// Returns the URL to use instead, or the same.
    ///
    /// - Parameters:
    ///   - url: The current URL: absolute, without the request's parameters.
    ///   - context: The send.
    /// - Returns: An absolute http or https URL.
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func filter(_ url: URL, for context: RequestContext) throws -> URL
}

/// A type that changes the final request of each attempt, such as by signing it, encrypting its body or adding a token.
///
/// The config's adapters run in their order, then the service's. Their result is validated again before it is sent.
///
/// An adapter that adds a credential adds it only if ``RequestContext/allowsCredentials`` is `true`. In a request to another
/// origin, header fields and query pairs that adapters and interceptors add are removed if ``Secrets`` names them;
/// a redirect to another origin removes every header field that they added or changed.
public protocol RequestAdapter: CredentialScoping {
    /// Changes a request. Called once for each attempt.
    ///
    /// - Parameters:
    ///   - request: The request, to be changed in place.
    ///   - context: The send and the attempt.
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws
}

/// A type that declares whose credentials it adds to a request: a ``RequestAdapter`` or an ``Interceptor``.
public protocol CredentialScoping: Sendable {
    /// Returns the scope of the credentials that this type adds, such as a user ID; an empty string if it adds none, or the
    /// same for every user; or `nil` if it declares nothing, so that no response is stored or shared.
    ///
    /// Only its digest is kept. It becomes part of the identity of a request before adapters and interceptors run, so that no
    /// response is ever shared between two users. If the scope differs when the request is sent, because the user has changed,
    /// the response is neither stored nor shared. ``RequestContext/credentialScope`` is the earlier scope.
    func credentialScope(for context: RequestContext) -> String?
}

extension CredentialScoping {
    /// Returns `nil`, which is the default.
    public func credentialScope(for context: RequestContext) -> String? { nil }
}

/// A type that decides whether a send may go to the network, and optionally whether it may use the cache.
///
/// A gate checks conditions such as "is there a network?" or "is the user logged in?".
///
/// ```swift
/// struct LoggedIn: SendGate {
///     func admit(_ context: RequestContext) async throws {
///         guard session.credential != nil || context.tag == "public" else { throw NotLoggedIn() }
///     }
///     var guardsCache: Bool { true }
/// }
/// config.sendGates.append(LoggedIn())
/// ```
///
/// The config's gates are called in their order, then the service's, once for each send and not for its further attempts.
/// A fresh cached response needs no gate unless ``guardsCache`` is `true`. A rejection counts as a failure of the network:
/// ``CachePolicy/networkElseCache(maxStale:)`` falls back to a stale response.
///
/// A gate that rejects sends because of reachability also rejects sends that would succeed; prefer to try the network.
public protocol SendGate: Sendable {
    /// Returns to admit a send, or throws to reject it.
    ///
    /// It may wait before that. The wait counts against the deadline, and ends when the send is cancelled.
    ///
    /// - Parameter context: The send. Its ``RequestContext/url`` is final except for adapters.
    /// - Throws: The reason for the rejection, which reaches the caller unchanged; nothing is sent.
    func admit(_ context: RequestContext) async throws

    /// A Boolean value that indicates whether the gate is also called before the cache is read, so that no cached response is
    /// used without it. The default is `false`.
    var guardsCache: Bool { get }
}

extension SendGate {
    /// Returns `false`, which is the default: a fresh cached response needs no gate.
    public var guardsCache: Bool { false }
}

/// A gate's error, wrapped until the cache has tried to supply a stale response.
struct GateRejection: Error {
    let error: any Error
}
