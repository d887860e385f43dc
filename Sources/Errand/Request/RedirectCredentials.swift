internal import Foundation

/// Removes credentials from a redirected request when a redirect leads to another origin.
struct RedirectCredentials: Sendable {
    var policy = CredentialPolicy.ownOrigins
    /// The header fields before adapters, interceptors and sessions added theirs.
    let ownHeaders: HTTPHeaders
    /// The body before adapters and interceptors.
    let ownBody: OutgoingBody
    var secrets = Secrets()
    /// Creates the body without base parameters, or `nil` if it has none.
    var makeBodyWithoutBase: (@Sendable () throws -> OutgoingBody)?
    /// The origins that may receive base parameters.
    var origins: @Sendable () throws(NetworkError) -> CredentialOrigins = { CredentialOrigins(keys: []) }

    /// The header fields that describe the requested response, such as for a stream of events or a resumed download.
    private static let describesResponse = FieldNames([
        "Accept", "Accept-Encoding", "Cache-Control", "If-Range", "Last-Event-ID", "Range",
    ])

    /// The header fields that are bound to an origin even if the policy is `.anyOrigin`.
    private static let alwaysLeft = FieldNames(["Cookie", "Proxy-Authorization", "Origin", "Referer"])

    /// Removes the credentials of the origin that the redirect leaves.
    ///
    /// - Throws: ``NetworkError`` if the body holds base parameters that cannot be removed, because an adapter or
    ///   interceptor replaced it.
    func leave(on request: inout OutgoingRequest, after response: RawResponse) throws {
        guard !request.notes.hasCredentialInBody || request.body.isEmpty else {
            let reason = "its body holds the credential of a session, which belongs to another origin"
            throw NetworkError(.invalidRedirect(reason), response: response)
        }
        // Without its key, the server would not recognize a request that it has already received.
        func isKey(_ name: String) -> Bool { name.isSameFieldName(as: "Idempotency-Key") }
        let sent = request
        func isLeft(_ field: HTTPHeaders.Field) -> Bool {
            Self.alwaysLeft.contains(field.name) || sent.notes.credential.contains(field)
        }
        if policy == .anyOrigin {
            request.headers = HTTPHeaders(request.headers.filter { !isLeft($0) })
            return
        }
        let own = Table(keys: Array(ownHeaders))
        request.headers = HTTPHeaders(
            request.headers.filter { field in
                (own[field] != nil || field.describesContent || Self.describesResponse.contains(field.name))
                    && !isLeft(field) && (!secrets.isCredential(header: field.name) || isKey(field.name))
            }
        )
        guard let makeBodyWithoutBase, !request.body.isEmpty, try !origins().contains(request.url) else { return }
        let ownWithoutBase = try makeBodyWithoutBase()
        guard let data = request.body.data, data == ownBody.data || data == ownWithoutBase.data else {
            throw NetworkError(
                .invalidRedirect("its body holds parameters of the config or service, which belong to another origin"),
                response: response
            )
        }
        request.body = ownWithoutBase
        if request.body.isEmpty { request.removeContent() }
    }
}
