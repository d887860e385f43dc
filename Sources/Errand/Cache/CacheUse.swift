internal import Foundation

/// How one send uses the cache; a ``PreparedRequest`` whose policy is ``CachePolicy/networkOnly`` has none.
final class CacheUse: Sendable {
    /// `nil` where the config has none.
    let cache: ResponseCache?
    /// What holds in this step.
    let policy: CachePolicy
    let step: CacheStep
    /// Whether a stored answer is followed by one from the network, however fresh it is.
    let isFollowed: Bool

    /// Most sends have none, and make none.
    static func of(_ policy: CachePolicy, step: CacheStep, cache: ResponseCache?) -> CacheUse? {
        if case .whole = step, case .networkOnly = policy { nil } else { CacheUse(policy, step: step, cache: cache) }
    }

    private init?(_ policy: CachePolicy, step: CacheStep, cache: ResponseCache?) {
        if case .first = step, case .cacheThenNetwork = policy { isFollowed = true } else { isFollowed = false }
        let policy = step.policy(policy)
        if case .networkOnly = policy { return nil }
        self.cache = cache
        self.policy = policy
        self.step = step
    }

    /// Whether a newer answer may be fetched after the send has ended.
    var refreshesBehind: Bool {
        switch step {
        case .whole, .policy: break
        case .first, .second: return false
        }
        switch policy {
        case .staleWhileRevalidate, .http: return true
        default: return false
        }
    }
}

/// Which part of a request's policy a send carries out.
enum CacheStep: Sendable {
    /// All of it, for one answer.
    case whole
    /// The first answer of `responses(for:)`.
    case first
    /// The second answer of `responses(for:)`: from the network.
    case second
    /// Another policy than the request's.
    case policy(CachePolicy)

    func policy(_ own: CachePolicy) -> CachePolicy {
        switch (self, own) {
        case (.policy(let other), _): other
        case (.first, .cacheThenNetwork(let maxAge)): .cacheElseNetwork(maxAge: maxAge)
        case (.second, .cacheThenNetwork), (.second, .staleWhileRevalidate): .reload
        default: own
        }
    }
}

/// Under which name the answer to a request is stored, and what is known of its user.
struct CacheIdentification: Sendable {
    let key: CacheKey
    /// The URL without ignored parameters.
    let url: String
    /// A digest of whose credentials the request shows; empty when nobody knows of any.
    let scope: String
    /// Whether something tells one user from another.
    let knowsUser: Bool

    /// - Throws: Why the request has nothing to do with the cache.
    init(_ prepared: PreparedRequest, appVersion: String, method: HTTPMethod? = nil) throws(CacheMiss) {
        let (outgoing, identity) = (prepared.outgoing, prepared.cacheIdentity)
        let method = method ?? outgoing.method
        guard method == .get || method == .head || identity.allowsAnyMethod else { throw .methodNotCached }
        guard let body = outgoing.body.data else { throw .bypassed }
        var names = Set(identity.headers.map { $0.lowercased() })
        names.formUnion(Self.usualNames)
        var fields: [(name: String, value: String)] = []
        for field in outgoing.headers {
            let name = field.name.lowercased()
            if Self.bypassing.contains(name) { throw .bypassed }
            let isCounted = names.contains(name) || prepared.secrets.isCredential(header: name)
            if isCounted { fields.append((name, field.value)) }
        }
        if CacheDirectives(outgoing.headers).noStore { throw .bypassed }
        let login = prepared.login?.scope ?? ""
        let scopes = prepared.scopes
        let hasScope = !login.isEmpty || scopes.contains { !$0.isEmpty }
        knowsUser = hasScope || !identity.variant.isEmpty
        // A token alone does not say whose it is, and it changes with every login.
        if !knowsUser, outgoing.headers.contains("Authorization") { throw .unknownScope }
        scope = hasScope ? Self.digest(login.isEmpty ? scopes : [login]) : ""
        url = Self.text(of: outgoing.url, without: identity.ignoredParameters)

        var hash = SHA256()
        func add(_ text: String) {
            withUnsafeBytes(of: UInt64(text.utf8.count).littleEndian) { hash.update($0) }
            hash.update(text.utf8)
        }
        add(method.rawValue)
        add(url)
        add("\(identity.version)")
        add(identity.variant)
        add(appVersion)
        add(login)
        for scope in scopes { add(scope) }
        for field in fields.sorted(by: { $0.name < $1.name }) {
            add(field.name)
            add(field.value)
        }
        if !body.isEmpty {
            add("body")
            hash.update(Self.counted(body, outgoing.headers["Content-Type"], without: identity.ignoredParameters))
        }
        key = CacheKey(url: url, identity: &hash)
    }

    /// Fields that answers depend on so often that they count without being asked for.
    private static let usualNames = ["accept", "accept-language"]

    /// With these fields a request asks for a part, or compares by itself.
    private static let bypassing: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]

    /// A digest of scopes, each told from its neighbours.
    static func digest(_ scopes: [String]) -> String {
        var hash = SHA256()
        for scope in scopes { hash.update("\(scope.utf8.count):\(scope)".utf8) }
        return hash.hexadecimal()
    }

    static func text(of url: URL, without ignored: Set<String>) -> String {
        let text = url.absoluteString
        guard !ignored.isEmpty, let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
        let kept = pairs(text[text.utf8.index(after: mark)...], without: ignored)
        return kept.isEmpty ? String(text[..<mark]) : "\(text[..<mark])?\(kept)"
    }

    private static func pairs(_ text: Substring, without ignored: Set<String>) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = String(pair.prefix { $0 != "=" })
            return !ignored.contains(name.removingPercentEncoding ?? name)
        }.joined(separator: "&")
    }

    /// What of a body counts: all of it, or without ignored parameters where it is a form or a JSON object.
    static func counted(_ body: Data, _ contentType: String?, without ignored: Set<String>) -> Data {
        guard !ignored.isEmpty, let type = contentType.flatMap(MediaType.init) else { return body }
        if type.essence == "application/x-www-form-urlencoded" {
            return Data(pairs(Substring(decoding: body, as: UTF8.self), without: ignored).utf8)
        }
        // A body that is no JSON object counts as it is.
        guard type.isJSON, case .object(let members)? = try? JSONValue(parsing: body) else { return body }
        let kept = members.filter { !ignored.contains($0.name) }.map { ($0.name, $0.value) }
        return JSONValue.object(JSONObject(kept)).data
    }
}

/// What cache and duplicates want to know of an exchange, left with the answer by stage 6.
final class CacheNote: ExchangeNote {
    /// Whether the request that was sent may show another user than the one that was identified; see ``IdentityCheck``.
    let isUnidentified: Bool
    /// The fields that the answer depends on (`Vary`) and that were changed on the way, credentials left out.
    let changesVary: Bool
    /// The entry that the server confirmed, up to date; `nil` when it sent an answer of its own.
    let confirmed: CacheEntry?

    init(_ prepared: PreparedRequest, sent: HTTPHeaders, response: HTTPHeaders, isUnidentified: Bool) {
        let before = prepared.outgoing.headers
        self.isUnidentified = isUnidentified
        changesVary = CacheControl.varyNames(response).contains {
            !prepared.secrets.isCredential(header: $0) && before[$0] != sent[$0]
        }
        confirmed = nil
    }

    /// An exchange of which nothing else is known.
    static let unidentified = CacheNote()

    private init() { (isUnidentified, changesVary, confirmed) = (true, true, nil) }

    /// The same of an exchange whose response may show another user.
    var unidentified: CacheNote { CacheNote(unidentified: self) }

    private init(unidentified note: CacheNote) {
        (isUnidentified, changesVary, confirmed) = (true, note.changesVary, note.confirmed)
    }

    init(_ note: CacheNote, confirmed: CacheEntry) {
        isUnidentified = note.isUnidentified
        changesVary = note.changesVary
        self.confirmed = confirmed
    }
}

extension RawResponse {
    /// What the cache wants to know of the exchange; `nil` when it wants nothing.
    var cacheNote: CacheNote? {
        get { note as? CacheNote }
        set { note = newValue }
    }
}

/// An entry that the server is asked about.
struct CacheValidation: Sendable {
    let entry: CacheEntry
    /// The fields that ask.
    let conditions: HTTPHeaders
    let requested: Date
    let now: @Sendable () -> Date

    /// The server confirmed something else than the entry, so it has to be asked anew.
    struct Unconfirmed: Error {}

    /// The answer of an attempt: where it confirms the entry, the entry itself as a whole answer.
    func merged(_ response: RawResponse, for url: URL) throws -> RawResponse {
        guard response.statusCode == 304 else { return response }
        let merged = CacheControl.merging(entry, with: response, requested: requested, received: now())
        guard let merged, let note = response.cacheNote, var whole = merged.response(for: url) else {
            throw Unconfirmed()
        }
        whole.redirects = response.redirects
        whole.timing = response.timing
        whole.credentialVersion = response.credentialVersion
        whole.cacheNote = CacheNote(note, confirmed: merged)
        return whole
    }
}
