/// Changes the final request of each attempt: signs it, encrypts its body, adds a token.
///
/// The config's adapters run in their order, then the service's. What they make is checked again before it is sent.
///
/// An adapter that adds a credential adds it only if ``RequestContext/allowsCredentials`` is `true`. In a request to another
/// origin, header fields and pairs of the query that adapters and interceptors add are removed if ``Secrets`` names them;
/// a redirect to another origin leaves behind every header field that they added or changed.
public protocol RequestAdapter: Sendable {
    /// Changes a request, once for each attempt.
    ///
    /// - Parameters:
    ///   - request: What is about to be sent; change it in place.
    ///   - context: Which send it belongs to, and which attempt this is.
    /// - Throws: What reaches the caller unchanged; nothing is sent.
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws

    /// Whose credentials this adapter adds, such as a user id; `nil` or empty when it adds none.
    ///
    /// Only its digest is kept. It becomes part of the identity of a request, so that no answer is ever shared between
    /// two users. If an adapter without a scope changes the method, the URL, the content or a field of
    /// ``Secrets/headers``, nobody knows whose response it is: it is neither stored nor shared, whatever login or
    /// ``CacheIdentity/variant`` the request has. An adapter whose changes are the same for every user, such as a
    /// signature in the query, returns a constant to keep its responses cacheable.
    func credentialScope(for context: RequestContext) -> String?
}

extension RequestAdapter {
    /// The default: `nil`, for an adapter that adds no credentials.
    public func credentialScope(for context: RequestContext) -> String? { nil }
}
