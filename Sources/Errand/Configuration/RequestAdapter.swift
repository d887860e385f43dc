/// A type that changes the final request of each attempt, such as by signing it, encrypting its body or adding a token.
///
/// The config's adapters run in their order, then the service's. Their result is validated again before it is sent.
///
/// An adapter that adds a credential adds it only if ``RequestContext/allowsCredentials`` is `true`. In a request to another
/// origin, header fields and query pairs that adapters and interceptors add are removed if ``Secrets`` names them;
/// a redirect to another origin removes every header field that they added or changed.
public protocol RequestAdapter: Sendable {
    /// Changes a request. Called once for each attempt.
    ///
    /// - Parameters:
    ///   - request: The request, to be changed in place.
    ///   - context: The send and the attempt.
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws

    /// Returns the scope of the credentials that this adapter adds, such as a user ID, or `nil` or an empty string if it
    /// adds none.
    ///
    /// Only its digest is kept. It becomes part of the identity of a request, so that no response is ever shared between
    /// two users. If an adapter without a scope changes the method, the URL, the content or a field of
    /// ``Secrets/headers``, the user of the response is not known: it is neither stored nor shared, whatever login or
    /// ``CacheIdentity/variant`` the request has. An adapter whose changes are the same for every user, such as a
    /// signature in the query, returns a constant to keep its responses cacheable.
    func credentialScope(for context: RequestContext) -> String?
}

extension RequestAdapter {
    /// Returns `nil`, which is the default, for an adapter that adds no credentials.
    public func credentialScope(for context: RequestContext) -> String? { nil }
}
