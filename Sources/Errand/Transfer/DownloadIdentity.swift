internal import Foundation

/// What an unfinished download belongs to: its request, and the user for whom it is sent.
///
/// The server's validator alone does not distinguish the contents of two users: many servers make it of a time and a size.
struct DownloadIdentity: Sendable, Hashable {
    /// The method, the origin and the path of the request.
    let request: String
    /// The scope of the session, the credentials of the request, the pairs of its query, and ``scopes``.
    ///
    /// They are secret, so that only a salted digest may be written.
    let user: [String]
    /// The credential scopes of hooks, which may be others with each attempt; they are secret too.
    let scopes: [String]

    /// Whether requests of equal names may be of other users, or differ in a secret.
    var hasUser: Bool { user.contains { !$0.isEmpty } }

    init(_ request: String, user: [String] = [], scopes: [String] = []) {
        (self.request, self.user, self.scopes) = (request, user + scopes, scopes)
    }

    /// Creates the identity of a request before adapters.
    ///
    /// The scope of a session and ``CacheIdentity/user`` identify a user, whose tokens may change: the session adds its own
    /// later, and those of a request that declares its user do not count. All other credentials of the request may be of
    /// another content.
    init(_ request: OutgoingRequest, of prepared: PreparedRequest) {
        let secrets = prepared.secrets
        let declared = prepared.cacheIdentity.user
        var user = [prepared.pinnedCredential?.scope ?? "", declared]
        let service = prepared.settings.request.service
        // Sessions of two services may have equal scopes.
        user.append(prepared.pinnedCredential != nil && service.authentication.session != nil ? service.id : "")
        if !prepared.transportIdentity.isEmpty { user.append("transport:\(prepared.transportIdentity)") }
        user += (request.credentialFields(of: secrets) + request.url.secretPairs(of: secrets)).filter { text in
            declared.isEmpty || !Self.tokensOfDeclaredUsers.contains(where: text.hasPrefix)
        }
        let scopes = prepared.scopes.enumerated().compactMap { Self.scope($1, ofHook: $0, of: prepared) }
        user += DownloadRecord.lastingPairs(of: request.url, without: secrets)
        self.init("\(request.method) \(request.url.shownOrigin)\(request.url.path())", user: user, scopes: scopes)
    }

    /// The beginnings of credentials that identify the user whom the request declares.
    private static let tokensOfDeclaredUsers = ["authorization:", "cookie:", "access_token="]

    /// Returns a text for the credential scope of a hook, or `nil` if it does not identify the user.
    static func scope(_ scope: String?, ofHook hook: Int, of prepared: PreparedRequest) -> String? {
        guard let scope else { return nil }
        // The cookies of a user change with every response.
        if prepared.hasKnownUser, prepared.hooks[hook] is any ExchangeInterceptor { return nil }
        return "hook \(hook): \(scope)"
    }

    /// Returns a digest of secret texts; equal ones have another digest with another salt.
    static func digest(_ texts: [String], salt: String) -> String {
        var digest = FieldDigest()
        digest.add(salt)
        for text in texts { digest.add(text) }
        return digest.hexadecimal()
    }
}

extension PreparedRequest {
    /// Whether a session or the request itself identifies the user.
    fileprivate var hasKnownUser: Bool {
        if !cacheIdentity.user.isEmpty { return true }
        guard let pinnedCredential, pinnedCredential.session.appliesTo(outgoing.url) else { return false }
        return !pinnedCredential.scope.isEmpty
    }
}

extension OutgoingRequest {
    /// Returns the credentials that a hook has added to another request, as texts that are secret.
    func credentials(addedTo before: OutgoingRequest, of secrets: Secrets) -> [String] {
        var added: [String] = []
        if headers != before.headers {
            let fields = before.credentialFields(of: secrets)
            added += credentialFields(of: secrets).filter { !fields.contains($0) }
        }
        if url != before.url {
            let pairs = before.url.secretPairs(of: secrets)
            added += url.secretPairs(of: secrets).filter { !pairs.contains($0) }
        }
        return added
    }

    /// The header fields that may identify a user.
    fileprivate func credentialFields(of secrets: Secrets) -> [String] {
        headers.filter { secrets.isCredential(header: $0.name) || SecretNames.mayNameUser($0.name) }
            .map { "\($0.name.lowercased()):\(Self.lastingPart($0.value))" }.sortedUnspecialized(by: <)
    }

    /// Returns the access key of a credential of AWS, whose signature changes with each request, or the whole value.
    private static func lastingPart(_ value: String) -> Substring {
        value.hasPrefix("AWS4-") ? value.prefix { $0 != "/" } : value[...]
    }
}

extension URL {
    /// The user information and the pairs of the query that are secret, without those of a signature.
    fileprivate func secretPairs(of secrets: Secrets) -> [String] {
        let pairs = (query() ?? "").split(separator: "&")
        let signature = URLSignature(of: pairs)
        let secret = pairs.filter { secrets.isCredential(pair: $0) && !signature.changes($0) }
        let userInformation = [user(), password()].compactMap { $0 }.map { "user information:\($0)" }
        return userInformation + secret.map(String.init)
    }
}
