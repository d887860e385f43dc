public import Foundation

/// A stored response, with the time at which it was received and the user that it belongs to.
public struct CacheEntry: Sendable {
    /// The method of the request.
    public var method: HTTPMethod
    /// The URL of the response, as text.
    public var location: String
    /// The status code of the response.
    public var statusCode: Int
    /// The header fields of the response, except those that belong to one connection or set a cookie.
    public var headers: HTTPHeaders
    /// The bytes after content decoding.
    public var body: Data
    /// The time at which the request was sent.
    public var requested: Date
    /// The time at which the response was received.
    public var received: Date
    /// The ``CacheIdentity/version`` of the request.
    public var version: Int
    /// The ``CacheIdentity/variant`` of the request.
    public var variant: String
    /// A digest of the scopes of the request's credentials; empty if none has a scope.
    public var scope: String
    /// A digest of the ``CacheIdentity/user`` of the request; empty if it has none.
    public var user: String = ""

    /// A field of the request that the response depends on (`Vary`), with a digest of its value.
    struct VaryField: Sendable, Hashable {
        var name: String
        var digest: String
    }

    var vary: [VaryField] = []

    /// Whether its bytes may have changed in the second of their date, so that no later date makes the validator strong (RFC
    /// 9110, section 8.8.2.2).
    var isWeak = false

    /// Where a session had added its credential to the URL, which ``location`` does not contain.
    var outline = CredentialOutline()

    /// Whether the request's veto was called; until then the entry is kept in memory only.
    var isVetted = true

    /// Whether the entry is never written to disk.
    var isMemoryOnly = false
}

extension CacheEntry {
    /// Creates an entry from a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - method: The method of the request.
    ///   - requested: The time at which the request was sent.
    ///   - received: The time at which the response was received, or `nil` for the same time.
    ///   - version: The ``CacheIdentity/version`` of the request.
    ///   - variant: The ``CacheIdentity/variant`` of the request.
    ///   - scope: A digest of the scopes of the request's credentials; empty if none has a scope.
    public init(
        _ response: RawResponse,
        method: HTTPMethod = .get,
        requested: Date,
        received: Date? = nil,
        version: Int = 0,
        variant: String = "",
        scope: String = ""
    ) {
        self.method = method
        location = response.storedURL.absoluteString
        outline = response.credential.outline
        statusCode = response.statusCode
        headers = response.headers
        body = response.body
        self.requested = requested
        self.received = received ?? requested
        self.version = version
        self.variant = variant
        self.scope = scope
    }

    /// Returns the time since the response was received, or `nil` if that is in the future, because a clock was set
    /// back.
    func age(at now: Date) -> Duration? {
        let age = now.timeSince1970 - received.timeSince1970
        return age < .zero ? nil : age
    }

    /// Returns the response as if it had just been received, or `nil` if its URL is invalid.
    func response(for url: URL) -> RawResponse? {
        // Parsed only after a redirect: creating a URL costs more than reading the entry.
        guard let url = url.absoluteString == location ? url : URL(reference: location) else { return nil }
        var response = RawResponse(statusCode: statusCode, headers: headers, body: body, url: url)
        if !outline.isEmpty { response.notes.value.credential = AppliedCredential(outline, addedTo: url) }
        return response
    }

    /// Whether a validator of this response has a meaning for a URL: if origin and path are the same (RFC 9110, section
    /// 8.8.1).
    ///
    /// The query may contain a signature.
    func isStored(for url: URL) -> Bool {
        guard url.absoluteString != location else { return true }
        guard let own = URL(reference: location) else { return false }
        return own.origin == url.origin && own.path() == url.path()
    }

    /// The approximate number of bytes that it takes in memory.
    var cost: Int {
        let fields = headers.reduce(body.count &+ location.utf8.count &+ 256) {
            $0 &+ $1.name.utf8.count &+ $1.value.utf8.count &+ 32
        }
        return vary.reduce(fields) { $0 &+ $1.name.utf8.count &+ $1.digest.utf8.count &+ 32 }
    }
}

/// An entry without its body, as in ``ResponseCache/entries`` and `removeAll(where:)`.
public struct StoredEntry: Sendable {
    /// The key of the entry.
    public let key: CacheKey
    /// The entry with an empty body.
    public let head: CacheEntry
    /// The number of bytes that the entry takes in its store.
    public let byteCount: Int
    /// The time at which it was last used, to about ten minutes, or `nil` if it is unknown.
    public let lastUsed: Date?

    /// Creates the description of an entry, for a store of your own.
    public init(key: CacheKey, entry: CacheEntry, byteCount: Int, lastUsed: Date? = nil) {
        self.key = key
        var head = entry
        head.body = Data()
        self.head = head
        self.byteCount = byteCount
        self.lastUsed = lastUsed
    }

    /// The URL of the response, or `nil` if the text is not a URL.
    public var url: URL? { URL(reference: head.location) }
}
