internal import Foundation

/// How to remove the parameters of the config and the service from a request that was moved to another origin.
indirect enum BaseParameterRemoval: Sendable {
    /// Creates their pairs in the query.
    case query(@Sendable () throws -> String)
    /// Creates the body without them.
    case body(@Sendable () throws -> OutgoingBody)
}

extension PreparedRequest {
    /// Creates the body without base parameters, or `nil` if it has none.
    private var makeBodyWithoutBase: (@Sendable () throws -> OutgoingBody)? {
        if case .body(let make)? = built.baseRemoval { make } else { nil }
    }

    /// Returns the origins that receive the credentials of the config and the service.
    func credentialOrigins() throws(NetworkError) -> CredentialOrigins {
        try settings.credentialOrigins(requestOrigin: requestOrigin)
    }

    /// The base parameters that are sent, as text for comparing two sends, or an empty string if there are none.
    var baseParameterText: String {
        guard built.baseParameters.isSent else { return "" }
        let base = settings.request.service.parameters.over(settings.config.inherited.parameters)
        // If a value cannot be encoded, building the request has already failed.
        let values = (try? base.values(dates: .iso8601)) ?? []
        return JSONValue.object(JSONObject(values.map { ($0.name, $0.value) })).description
    }

    /// Whether the request or its service has opted out of credentials.
    private var isAnonymous: Bool {
        settings.authorization.value == .anonymous && settings.authorization.source != .library
    }

    /// Whether credentials are added to the request, unless it is moved or redirected.
    var mayHoldCredentials: Bool { credentials.areSent && !isAnonymous }

    /// The credentials that a redirect to another origin removes.
    var redirectCredentials: RedirectCredentials {
        RedirectCredentials(
            policy: credentials.policy,
            ownHeaders: outgoing.headers,
            ownBody: outgoing.body,
            secrets: secrets,
            makeBodyWithoutBase: makeBodyWithoutBase,
            origins: credentialOrigins
        )
    }

    /// Removes credentials that adapters and interceptors added to a request for another origin, and all credentials of a
    /// request that they moved to another origin; and a session's credential from all URLs to which its authenticator does not
    /// apply.
    func withholdCredentials(from request: inout OutgoingRequest) throws {
        if request.url != outgoing.url, let session = self.pinnedCredential?.session, !session.appliesTo(request.url) {
            let applied = request.notes.credential
            request.headers = HTTPHeaders(request.headers.filter { !applied.contains($0) })
            request.url = try request.url.removing(pairsLike: applied.pairs)
            let isInBody = request.notes.hasCredentialInBody && !request.body.isEmpty
            let isInPath = try applied.isInPath(of: request.url) && !isOfOwnOrigin(request.url)
            guard !isInBody, !isInPath else {
                throw NetworkError(
                    .invalidURL(
                        "an interceptor moved the request to a URL that its authenticator does not apply to, and the "
                            + "\(isInBody ? "body" : "path") holds the credential; move it in a URL filter"
                    )
                )
            }
        }
        guard credentials.policy != .anyOrigin else { return }
        var isMoved = false
        if request.url != outgoing.url {
            guard let parts = try URLParts(absolute: request.url.absoluteString) else { return }
            isMoved = try parts.origin != origin && !credentialOrigins().contains(parts.origin)
        }
        guard isMoved || !credentials.areSent else { return }
        let own = Table(keys: isMoved ? [] : Array(outgoing.headers))
        // The authenticator of a session decides by itself which URLs receive its credential.
        let applied = FieldNames(
            self.pinnedCredential?.session.appliesTo(request.url) == true
                ? request.notes.credential.headers.map(\.name) : []
        )
        request.headers = HTTPHeaders(
            request.headers.filter { field in
                own[field] != nil || applied.contains(field.name) || !secrets.isCredential(header: field.name)
            }
        )
        if request.url != outgoing.url {
            request.url = try request.url.withoutCredentials(of: secrets, except: isMoved ? nil : outgoing.url)
        }
        if isMoved { try withholdBaseParameters(from: &request) }
    }

    /// Whether a URL is of the request's own origin.
    private func isOfOwnOrigin(_ url: URL) throws -> Bool {
        try URLParts(absolute: url.absoluteString)?.origin == origin
    }

    /// Removes base parameters from a request that was moved to another origin.
    private func withholdBaseParameters(from request: inout OutgoingRequest) throws {
        if case .query(let makePairs)? = built.baseRemoval {
            request.url = try request.url.removing(pairs: makePairs())
        }
        guard let makeBodyWithoutBase, !request.body.isEmpty else { return }
        let own = try makeBodyWithoutBase()
        guard let data = request.body.data, data == outgoing.body.data || data == own.data else {
            throw NetworkError(
                .invalidURL(
                    "an adapter or interceptor moved the request to another origin and changed its body, which holds "
                        + "parameters of the config or service; move it in a URL filter, or list the origin in "
                        + "credentialOrigins"
                )
            )
        }
        request.body = own
        if own.isEmpty { request.removeContent() }
    }
}

extension PinnedCredential {
    /// Creates the credential of a request, or `nil` if it has none; `own` are the header fields of the request itself.
    convenience init?(
        of settings: Settings,
        for client: any RefreshClient,
        own: () -> HTTPHeaders
    ) {
        let (config, service) = (settings.config.inherited.authentication, settings.request.service.authentication)
        guard config != .inherited || service != .inherited else { return nil }
        let setting = settings.authentication
        guard let session = setting.value.session, settings.authorization.source <= setting.source,
            !RefreshScope.contains(session), !own().contains("Authorization")
        else { return nil }
        self.init(session: session, client: client)
    }
}
