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
