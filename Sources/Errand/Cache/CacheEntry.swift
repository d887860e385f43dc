public import Foundation

/// A stored answer: what came, when, and for whom it may be used.
public struct CacheEntry: Sendable {
    /// The method of the request that it answered.
    public var method: HTTPMethod
    /// Where it came from, as text.
    public var location: String
    /// The status of the answer.
    public var statusCode: Int
    /// The fields of the answer, but for those that belong to one connection or set a cookie.
    public var headers: HTTPHeaders
    /// The bytes after content decoding.
    public var body: Data
    /// When the request was sent.
    public var requested: Date
    /// When the answer was there.
    public var received: Date
    /// The ``CacheIdentity/version`` of the request.
    public var version: Int
    /// The ``CacheIdentity/variant`` of the request.
    public var variant: String
    /// A digest of whose credentials the request showed; empty when it showed none.
    public var scope: String

    /// A field of the request that the answer depends on (`Vary`), with a digest of its value.
    struct VaryField: Sendable, Hashable {
        var name: String
        var digest: String
    }

    var vary: [VaryField] = []

    /// Whether the request was asked if the answer may be stored; until then it stays in memory.
    var isVetted = true

    /// Takes an answer to be stored.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - method: The method of the request.
    ///   - requested: When the request was sent.
    ///   - received: When the answer was there; `nil` is the same time.
    ///   - version: The ``CacheIdentity/version`` of the request.
    ///   - variant: The ``CacheIdentity/variant`` of the request.
    ///   - scope: A digest of whose credentials the request showed; empty when it showed none.
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
        location = response.url.absoluteString
        statusCode = response.statusCode
        headers = response.headers
        body = response.body
        self.requested = requested
        self.received = received ?? requested
        self.version = version
        self.variant = variant
        self.scope = scope
    }

    init(
        method: HTTPMethod,
        location: String,
        statusCode: Int,
        headers: HTTPHeaders,
        body: Data,
        requested: Date,
        received: Date,
        version: Int,
        variant: String,
        scope: String,
        vary: [VaryField]
    ) {
        self.method = method
        self.location = location
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.requested = requested
        self.received = received
        self.version = version
        self.variant = variant
        self.scope = scope
        self.vary = vary
    }

    /// How long it has been here; `nil` when it comes from the future, because a clock was set back.
    func age(at now: Date) -> Duration? {
        let age = now.timeSince1970 - received.timeSince1970
        return age < .zero ? nil : age
    }

    /// The answer, as if it had just arrived.
    func response(for url: URL) -> RawResponse? {
        // Made anew only after a redirect: making a URL costs more than reading the entry.
        guard let url = url.absoluteString == location ? url : URL(string: location) else { return nil }
        return RawResponse(statusCode: statusCode, headers: headers, body: body, url: url)
    }

    /// About how many bytes it takes in memory.
    var cost: Int {
        headers.reduce(body.count &+ location.utf8.count &+ 256) {
            $0 &+ $1.name.utf8.count &+ $1.value.utf8.count &+ 32
        }
    }
}

/// What ``ResponseCache/entries`` and `removeAll(where:)` tell of an entry: everything but its body.
public struct StoredEntry: Sendable {
    /// Its name.
    public let key: CacheKey
    /// The entry with an empty body.
    public let head: CacheEntry
    /// How many bytes it takes where it is stored.
    public let byteCount: Int
    /// When it was last used, give or take a minute; `nil` where nobody knows.
    public let lastUsed: Date?

    /// Tells an entry of a store of your own.
    public init(key: CacheKey, entry: CacheEntry, byteCount: Int, lastUsed: Date? = nil) {
        self.key = key
        var head = entry
        head.body = Data()
        self.head = head
        self.byteCount = byteCount
        self.lastUsed = lastUsed
    }

    /// Where the answer came from; `nil` when that is no URL.
    public var url: URL? { URL(string: head.location) }
}
