internal import Foundation

/// Additional components of the cache key of a request.
///
/// The method, the URL, `Accept` and `Accept-Language`, the version of the app, the credentials and their scope are
/// always part of the key.
///
/// In a request, write `var cacheIdentity: CacheIdentity { CacheIdentity(version: 2, user: userID) }`.
public struct CacheIdentity: Sendable, Hashable {
    /// The version of the model; responses stored with another version are not found.
    public var version: Int
    /// A text that distinguishes requests with equal URLs, such as a locale.
    ///
    /// It doesn't identify a user; ``user`` does.
    public var variant: String
    /// The user that the request belongs to, such as a user ID; empty if the request doesn't declare one.
    ///
    /// Declare it if the request, the service or the config has a credential of its own, such as an `Authorization`
    /// field: without it, the response isn't stored. It says nothing about what adapters and interceptors add; those
    /// declare a ``CredentialScoping/credentialScope(for:)``. Only its digest is kept.
    public var user: String = ""
    /// The names of parameters that are not part of the key, such as a time stamp: in the query, a form, or a JSON
    /// object.
    ///
    /// An array or a nested object is ignored by its own name. In a query or a form, `tags` ignores `tags[]` and `tags[x]`,
    /// and `tags.x` if the request's ``Request/parameterEncoding`` nests with dots.
    public var ignoredParameters: Set<String>
    /// The names of further header fields of the request that are part of the key; their case is ignored.
    public var headers: Set<String> = []
    /// Whether responses to methods other than GET and HEAD are stored too, such as to a search by POST.
    ///
    /// The body is part of the key then.
    public var allowsAnyMethod = false

    /// The identity of requests that declare none.
    static let usual = CacheIdentity()

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - version: The version of the model.
    ///   - variant: A text that distinguishes requests with equal URLs; empty if there is none.
    ///   - user: The user that the request belongs to; empty if it doesn't declare one.
    ///   - ignoredParameters: The names of parameters that are not part of the key.
    ///   - headers: The names of further header fields of the request that are part of the key.
    ///   - allowsAnyMethod: Whether responses to methods other than GET and HEAD are stored too.
    public init(
        version: Int = 0,
        variant: String = "",
        user: String = "",
        ignoredParameters: Set<String> = [],
        headers: Set<String> = [],
        allowsAnyMethod: Bool = false
    ) {
        self.version = version
        self.variant = variant
        self.user = user
        self.ignoredParameters = ignoredParameters
        self.headers = headers
        self.allowsAnyMethod = allowsAnyMethod
    }
}

/// The parameters that are not part of a key.
struct IgnoredParameters: Sendable, Hashable {
    let names: Set<String>
    /// The style of the names of nested objects' members.
    let nesting: ParameterEncoding.Nesting

    var isEmpty: Bool { names.isEmpty }

    /// Whether a parameter of a query or a form is ignored, by its name or that of the array or object that it belongs to.
    func contains(_ name: String) -> Bool {
        if names.contains(name) { return true }
        let outermost = name.unicodeScalars.prefix { $0 != "[" && ($0 != "." || nesting == .brackets) }
        return names.contains(String(outermost))
    }
}

extension PreparedRequest {
    /// The parameters that are not part of the cache key.
    var ignoredParameters: IgnoredParameters {
        IgnoredParameters(names: cacheIdentity.ignoredParameters, nesting: resolved.parameterEncoding.value.nesting)
    }

    /// Whether it has a credential, and neither a session nor its ``CacheIdentity`` names the user.
    var hasUnknownUser: Bool {
        // A token alone does not identify a user, and it changes with every login. The scope of an adapter is that of
        // what it adds itself.
        pinnedCredential?.scope.isEmpty ?? true && cacheIdentity.user.isEmpty
            && outgoing.headers.contains("Authorization")
    }
}

/// The cache key of a request, and the scope of its credentials.
struct CacheIdentification: Sendable {
    let key: CacheKey
    /// A digest of the scopes of the credentials; empty if none has a scope.
    let scope: String
    /// Whether the request has a session's scope or a user.
    let isOfKnownUser: Bool
    /// The names of the request's fields that are part of the key, in lower case.
    private let fields: Set<String>

    /// Creates the identification of a request.
    ///
    /// - Throws: The reason why the request is not cached.
    init(_ prepared: PreparedRequest, appVersion: String, method: HTTPMethod? = nil) throws(CacheMiss) {
        let (outgoing, identity) = (prepared.outgoing, prepared.cacheIdentity)
        let method = method ?? outgoing.method
        guard method == .get || method == .head || identity.allowsAnyMethod else { throw .methodNotCached }
        // A response that is stored for another method has no body of its own in the key.
        guard let body = method == outgoing.method ? outgoing.body.data : Data() else { throw .bypassed }
        try Self.checkRange(outgoing, method)
        var names = Set(identity.headers.map { $0.lowercased() })
        names.formUnion(Self.usualNames)
        var fields: Set<String> = []
        for field in outgoing.headers {
            let name = field.name.lowercased()
            if Self.bypassing.contains(name) { throw .bypassed }
            let isOfUser = prepared.secrets.isCredential(header: name) || SecretNames.mayNameUser(name)
            if isOfUser || names.contains(name) { fields.insert(name) }
        }
        if CacheDirectives(outgoing.headers).noStore { throw .bypassed }
        let login = prepared.pinnedCredential?.scope ?? ""
        let scopes = prepared.scopes
        if prepared.hasUnknownUser { throw .unknownScope }
        isOfKnownUser = !login.isEmpty || !identity.user.isEmpty
        let known = login.isEmpty ? scopes.map { $0 ?? "" } : [login]
        scope = known.contains { !$0.isEmpty } ? Self.digest(known) : ""

        let url = Self.text(of: outgoing.url, without: prepared.ignoredParameters)
        var digest = FieldDigest()
        for text in [method.rawValue, url, "\(identity.version)", identity.variant, appVersion, login] {
            digest.add(text)
        }
        // None of these labels is the name of a header field.
        func add(_ label: String, _ text: String) {
            digest.add(label)
            digest.add(text)
        }
        for (place, scope) in scopes.enumerated() { if let scope { add("scope \(place)", scope) } }
        // Scopes say whose credentials are added, if any are.
        if !prepared.mayHoldCredentials { add("credentials:", "") }
        if !identity.user.isEmpty { add("user:", identity.user) }
        if !prepared.transportIdentity.isEmpty { add("transport:", prepared.transportIdentity) }
        let service = prepared.settings.request.service
        // Sessions of two services may have equal scopes.
        if prepared.pinnedCredential != nil, service.authentication.session != nil { add("service:", service.id) }
        for name in fields.sortedUnspecialized(by: <) {
            // A credential counts as it is written.
            let isCredential = prepared.secrets.isCredential(header: name)
            let value = isCredential ? outgoing.headers[name] : NormalizedField.value(of: name, in: outgoing.headers)
            digest.add(name)
            digest.add(value ?? "")
        }
        if !body.isEmpty {
            digest.add("body")
            digest.addLast(Self.counted(body, outgoing.headers["Content-Type"], without: prepared.ignoredParameters))
        }
        key = CacheKey(url: url, identity: digest.words())
        self.fields = fields
    }

    /// The place of the request's responses.
    func place(of request: HTTPHeaders) -> CachePlace {
        CachePlace(primary: key, request: request, counted: fields)
    }

    /// Checks that a range, if there is one, is one that a stored response can satisfy (RFC 9110, section 14.2).
    private static func checkRange(_ outgoing: OutgoingRequest, _ method: HTTPMethod) throws(CacheMiss) {
        let range = outgoing.headers["Range"]
        guard range != nil || outgoing.headers.contains("If-Range") else { return }
        guard let range, method == .get, outgoing.method == .get, ByteRange(range) != nil else { throw .bypassed }
    }

    /// The fields that responses depend on so often that they are always part of the key.
    private static let usualNames = ["accept", "accept-language"]

    /// The fields of a conditional request of the caller's own.
    private static let bypassing: Set<String> = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]

    /// Returns a digest of scopes, as in entries on disk.
    static func digest(_ scopes: [String]) -> String {
        var digest = FieldDigest()
        for scope in scopes { digest.add(scope) }
        return digest.hexadecimal()
    }

    /// Returns a URL without the ignored parameters of its query.
    static func text(of url: URL, without ignored: IgnoredParameters) -> String {
        let text = url.absoluteString
        guard !ignored.isEmpty, let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
        let kept = pairs(text[text.utf8.index(after: mark)...], without: ignored)
        return kept.isEmpty ? String(text[..<mark]) : "\(text[..<mark])?\(kept)"
    }

    private static func pairs(_ text: Substring, without ignored: IgnoredParameters) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).filter { pair in
            let name = String(Substring(pair.prefix { $0 != UInt8(ascii: "=") }))
            return !ignored.contains(name.removingPercentEncoding ?? name)
        }.map { String(Substring($0)) }.joined(separator: "&")
    }

    /// Returns the part of a body that belongs to the key: all of it, or without ignored parameters in a form or a JSON
    /// object.
    static func counted(_ body: Data, _ contentType: String?, without ignored: IgnoredParameters) -> Data {
        guard !ignored.isEmpty, let type = contentType.flatMap(MediaType.init) else { return body }
        if type.essence == "application/x-www-form-urlencoded" {
            return Data(pairs(Substring(decoding: body, as: UTF8.self), without: ignored).utf8)
        }
        // A body that is not a JSON object is used unchanged.
        guard type.isJSON, case .object(let members)? = try? JSONValue(parsing: body) else { return body }
        let kept = members.filter { !ignored.names.contains($0.name) }.map { ($0.name, $0.value) }
        return JSONValue.object(JSONObject(kept)).data
    }
}

extension CacheIdentity {
    /// Returns a digest of a user, or an empty string if there is none.
    static func digest(ofUser user: String) -> String {
        user.isEmpty ? "" : CacheIdentification.digest(["user", user])
    }
}
