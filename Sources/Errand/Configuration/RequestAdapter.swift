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
    /// Also called before a stored or shared response is used, without sending the request: if no scope is declared, or
    /// if the response depends on a credential (`Vary: Authorization`).
    ///
    /// - Parameters:
    ///   - request: The request, to be changed in place.
    ///   - context: The send and the attempt.
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws
}

/// A type that may declare the user to whom its changes of a request belong: a ``RequestAdapter`` or an ``Interceptor``.
public protocol CredentialScoping: Sendable {
    /// Returns the scope of the credentials that this type adds, such as a user ID; a constant, such as an empty
    /// string, if its changes are the same for every user; or `nil` if it declares nothing.
    ///
    /// Only its digest is kept. It becomes part of the identity of a request, so that no response is ever shared between
    /// two users. A scope applies to the changes of this type only, and to those of one send: if it is another one at a
    /// later attempt, because the user has changed, the response is neither stored nor shared.
    ///
    /// If a type without a scope changes the method, the URL, the content, a field of ``Secrets/headers`` or a field
    /// whose name refers to a user, the user of the response is not known. The response is then neither stored nor
    /// shared, whatever login or ``CacheIdentity`` the request has. A type whose changes are the same for every user,
    /// such as a signature in the query, returns a constant to keep its responses cacheable.
    func credentialScope(for context: RequestContext) -> String?
}

extension CredentialScoping {
    /// Returns `nil`, which is the default.
    public func credentialScope(for context: RequestContext) -> String? { nil }
}
