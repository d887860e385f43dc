internal import Foundation

extension PreparedRequest {
    /// The parameters that are not part of the cache key.
    var ignoredParameters: IgnoredParameters {
        IgnoredParameters(names: cacheIdentity.ignoredParameters, nesting: settings.parameterEncoding.value.nesting)
    }

    /// The header fields by which stored responses are selected: a token of a user who is named does not.
    func selectingHeaders(of user: RequestUser) -> HTTPHeaders {
        guard user.isNamed, outgoing.headers.contains("Authorization") else { return outgoing.headers }
        var headers = outgoing.headers
        headers["Authorization"] = nil
        return headers
    }
}

/// The cache key of a request, and the scope of its session.
struct CacheIdentification: Sendable {
    let key: CacheKey
    /// A digest of the scope of the session; empty if it has none.
    let scope: String
    let user: RequestUser
    /// The header fields by which stored responses are selected.
    let selecting: HTTPHeaders
    /// The names of the request's fields that are part of the key, in lower case.
    private let fields: Set<String>

    /// Creates the identification of a request.
    ///
    /// - Parameters:
    ///   - prepared: The request.
    ///   - user: Its user, with the secret of the cache.
    ///   - appVersion: The version of the program.
    ///   - method: The method for which the response is stored, or `nil` for the request's.
    /// - Throws: The reason why the request is not cached.
    init(
        _ prepared: PreparedRequest,
        of user: RequestUser,
        appVersion: String,
        method: HTTPMethod? = nil
    ) throws(CacheMiss) {
        let (outgoing, identity) = (prepared.outgoing, prepared.cacheIdentity)
        let method = method ?? outgoing.method
        guard method == .get || method == .head || identity.allowsAnyMethod else { throw .methodNotCached }
        // A response that is stored for another method has no body of its own in the key.
        guard let body = method == outgoing.method ? outgoing.body.data : Data() else { throw .bypassed }
        try Self.checkRange(outgoing, method)
        let ofUser = Set(user.fields.map { $0.name.lowercased() })
        var names = Set(identity.headers.map { $0.lowercased() })
        names.formUnion(Self.usualNames)
        names.subtract(ofUser)
        names = names.filter { outgoing.headers.contains($0) }
        if Self.bypassing.contains(where: outgoing.headers.contains) { throw .bypassed }
        if CacheDirectives(outgoing.headers).noStore { throw .bypassed }
        guard user.isKnown else { throw .unknownScope }
        self.user = user
        scope = user.login.isEmpty ? "" : Self.digest([user.login])
        selecting = prepared.selectingHeaders(of: user)

        let url = Self.text(of: outgoing.url, without: prepared.ignoredParameters)
        var digest = FieldDigest()
        for text in [method.rawValue, url, identity.variant, appVersion] { digest.add(text) }
        digest.add(identity.version)
        user.add(to: &digest)
        // Scopes say whose credentials are added, if any are.
        digest.add(prepared.mayHoldCredentials ? 1 : 0)
        digest.add(names.count)
        for name in names.sortedUnspecialized(by: <) {
            digest.add(name)
            digest.add(NormalizedField.value(of: name, in: outgoing.headers) ?? "")
        }
        digest.addLast(Self.counted(body, outgoing.headers["Content-Type"], without: prepared.ignoredParameters))
        key = CacheKey(url: url, identity: digest.words())
        fields = ofUser.union(names)
    }

    /// The place of the request's responses.
    var place: CachePlace { CachePlace(primary: key, request: selecting, counted: fields) }

    /// Checks that a range, if there is one, is one that a stored response can satisfy (RFC 9110, section 14.2).
    private static func checkRange(_ outgoing: OutgoingRequest, _ method: HTTPMethod) throws(CacheMiss) {
        let range = outgoing.headers["Range"]
        guard range != nil || outgoing.headers.contains("If-Range") else { return }
        guard let range, method == .get, outgoing.method == .get, ByteRange(range) != nil else { throw .bypassed }
    }

    /// The fields that responses depend on so often that they are always part of the key.
    private static let usualNames = ["accept", "accept-language"]

    /// The fields of a conditional request of the caller's own.
    private static let bypassing = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"]

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
