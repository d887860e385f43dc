#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// A type that declares one API as a value.
///
/// A conforming type declares ``Model`` and ``path``. Every other member has a default, which its documentation states
/// together with the spelling that overrides it. A declaration of another type is a new property to Swift and has no
/// effect, so copy the spelling; `plan(for:)` of ``Agent`` shows the resolved settings and their sources.
///
/// A request need not be `Sendable`. If the request, its `Model` and its `Formatter` are, it is prepared and formatted
/// in the background; otherwise on the actor that sends it, so plain types of a module isolated to the main actor work
/// unchanged.
public protocol Request<Model> {
    /// The type that the response is formatted as: `Decodable` for JSON, `String` for text, `Data` for bytes, `Void`
    /// for nothing, `JSONValue` for any JSON, or any type with a ``formatter`` of your own.
    associatedtype Model
    /// The type of ``filter``.
    associatedtype Filter: ResponseFilter = InheritedFilter
    /// The type of ``formatter``.
    associatedtype Formatter: ResponseFormatter = DefaultFormatter<Model> where Formatter.Output == Model

    /// The type of the response that `response(for:)` of a batch returns for this request; don't declare it.
    ///
    /// It is ``Response`` of the ``Model``; an optional for `ignoringFailure()`; for a batch, its requests' responses.
    associatedtype ResponseInBatch = Response<Model>

    // MARK: Where

    /// The path relative to the base URL, or an absolute URL, which is used without the base.
    ///
    /// It is already-encoded text: valid escapes are kept, illegal characters are encoded, and `?` starts the query.
    /// Base and path are joined by exactly one slash. Write values that may contain any character as
    /// `\(component: value)`, which encodes characters that would change the path. A relative path with `.` or `..` as a
    /// component, or with `#`, fails with ``NetworkError/Kind/invalidRequest``; in an absolute URL these are resolved
    /// and omitted (RFC 3986, section 5.2.4).
    ///
    /// Spelling: `var path: String { "/users/\(id)" }`, or `{ "/users/\(component: name)" }`.
    var path: String { get }

    /// The service that the request belongs to; the default is ``Service/default``.
    ///
    /// Spelling: `var service: Service { .shop }`.
    var service: Service { get }

    /// Whether the path is resolved against the CDN's URL; the default is `false`.
    ///
    /// Spelling: `var usesCDN: Bool { true }`.
    var usesCDN: Bool { get }

    /// The method; the default is `.get`.
    ///
    /// Spelling: `var method: HTTPMethod { .post }`.
    var method: HTTPMethod { get }

    // MARK: What it carries

    /// The parameters that go into the query with any method; the default is none.
    ///
    /// Spelling: `var query: Parameters { ["page": page] }`.
    var query: Parameters { get throws }

    /// The parameters for the query or the body; the default is the stored properties of an `Encodable` request, or
    /// else none.
    ///
    /// ``parameterEncoding`` decides where they go. Three rules apply to stored properties. `nil` is omitted. A leading
    /// underscore is removed: `_id` is sent as `id`. A property that implements a member of this protocol is not sent,
    /// unless `CodingKeys: String` list it. Stored properties are not sent if the request has its own ``body``.
    ///
    /// Parameters of the service and the config go to the same place. If that is the body and the request has one of
    /// its own, they are not sent: the body is sent unchanged, and secrets must not appear in the query. To send them
    /// in the query with such a request, set ``parameterEncoding`` to `.query`.
    ///
    /// Spelling: `var parameters: Parameters { ["name": name] }`.
    var parameters: Parameters { get throws }

    /// The place and the format of ``parameters``; the default is `.inherited`.
    ///
    /// If neither the service nor the config has one, it is ``ParameterEncoding/automatic``. The parameters of an
    /// `Encodable` request apply it to their dates only if they are the default ones.
    ///
    /// Spelling: `var parameterEncoding: ParameterEncoding { .form }`.
    var parameterEncoding: ParameterEncoding { get }

    /// The body; the default is `.automatic`, which is made from the parameters.
    ///
    /// Spelling: `var body: RequestBody { .json(order) }`, or `{ get throws { … } }`.
    var body: RequestBody { get throws }

    /// The header fields, which override the service's and the config's; the default is none.
    ///
    /// Spelling: `var headers: HTTPHeaders { ["Accept-Language": "en"] }`.
    var headers: HTTPHeaders { get }

    /// The credentials in the `Authorization` field; the default is `.inherited`.
    ///
    /// `.anonymous` also removes a field in the headers of the service and the config.
    ///
    /// Spelling: `var authorization: Authorization { .bearer(token) }`.
    var authorization: Authorization { get }

    /// Which origins receive the credentials of the service and the config; the default is `.ownOrigins`.
    ///
    /// Spelling: `var credentialPolicy: CredentialPolicy { .requestOrigin }`.
    var credentialPolicy: CredentialPolicy { get }

    /// The value of the `Idempotency-Key` field; the default is `.absent`.
    ///
    /// Spelling: `var idempotencyKey: IdempotencyKey { .automatic }`.
    var idempotencyKey: IdempotencyKey { get }

    /// Whether the header fields of the service and the config are sent; the default is `true`.
    ///
    /// Spelling: `var usesBaseHeaders: Bool { false }`.
    var usesBaseHeaders: Bool { get }

    /// Whether the parameters of the service and the config are sent as ``Request/parameters`` describes; the default is
    /// `true`.
    ///
    /// Spelling: `var usesBaseParameters: Bool { false }`.
    var usesBaseParameters: Bool { get }

    // MARK: How it is sent

    /// The limits of time and size; by default all are inherited.
    ///
    /// Spelling: `var limits: Limits { Limits(timeout: .seconds(5)) }`.
    var limits: Limits { get }

    /// The priority among requests that wait for a permit; the default is `.normal`.
    ///
    /// Spelling: `var priority: RequestPriority { .high }`.
    var priority: RequestPriority { get }

    /// Whether the cellular network may be used, on platforms that have one; the default is `true`.
    ///
    /// Spelling: `var allowsCellularAccess: Bool { false }`.
    var allowsCellularAccess: Bool { get }

    /// The rules for which failures are retried; the default is `.inherited`.
    ///
    /// Spelling: `var retryPolicy: RetryPolicy { .never }`.
    var retryPolicy: RetryPolicy { get }

    /// The rules for which redirects are followed; the default is `.inherited`.
    ///
    /// Spelling: `var redirectPolicy: RedirectPolicy { .refuse }`.
    var redirectPolicy: RedirectPolicy { get }

    /// The rules for when a cached response is used; the default is `.inherited`.
    ///
    /// Spelling: `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
    var cachePolicy: CachePolicy { get }

    /// The cache in which responses are stored; the default is `.inherited`.
    ///
    /// Spelling: `var cacheStorage: CacheStorage { .memoryOnly }`.
    var cacheStorage: CacheStorage { get }

    /// Further components of the cache key; the default is none.
    ///
    /// Responses to requests with an `Authorization` field are only stored if ``CacheIdentity/user`` or a session names the
    /// user.
    ///
    /// Spelling: `var cacheIdentity: CacheIdentity { CacheIdentity(user: userID) }`.
    var cacheIdentity: CacheIdentity { get }

    /// What happens if an equal send, as determined by ``duplicateKey``, is in flight; the default is `.allow`.
    ///
    /// Spelling: `var duplicatePolicy: DuplicatePolicy { .share }`.
    var duplicatePolicy: DuplicatePolicy { get }

    /// The key by which sends of this type are equal for ``duplicatePolicy`` and ``Limits/minimumInterval``, in
    /// addition to service and credentials.
    ///
    /// The default is empty, which compares method, URL, header fields and body instead.
    ///
    /// Spelling: `var duplicateKey: String { "search" }`.
    var duplicateKey: String { get }

    // MARK: Which responses are accepted, and how they are formatted

    /// The conditions for accepting a response; the default is `.inherited`.
    ///
    /// If neither the service nor the config has any, they are status codes 200 to 299 and any content type.
    ///
    /// Spelling: `var acceptance: Acceptance { Acceptance(statusCodes: 200..<400) }`.
    var acceptance: Acceptance { get }

    /// The filter that unwraps the envelope; the default is the service's, then the config's.
    ///
    /// Spelling: `var filter: PassthroughFilter { .passthrough }`, or with another filter's type.
    var filter: Filter { get }

    /// The formatter that creates the model; the default depends on the model's type.
    ///
    /// Spelling: `var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }`, or with another formatter's
    /// type.
    var formatter: Formatter { get }

    /// Where a `Sendable` request is prepared and formatted; the default is `.background`.
    ///
    /// Spelling: `var formattingContext: FormattingContext { .caller }`.
    var formattingContext: FormattingContext { get }

    // MARK: Hooks

    /// Accessories for this request only; the default is none.
    ///
    /// They run inside the accessories of the config and the service.
    ///
    /// Spelling: `var accessories: [any Accessory] { [printer] }`.
    var accessories: [any Accessory] { get }

    /// Checks the request before anything is built; an error reaches the caller unchanged, and nothing is sent.
    ///
    /// Spelling: `func check() throws { … }`.
    func check() throws

    /// Receives the model on success, where it was created; an error makes the send fail and reaches the caller
    /// unchanged.
    ///
    /// Spelling: `func didProduce(_ model: User, from response: RawResponse) throws { … }`.
    func didProduce(_ model: Model, from response: RawResponse) throws

    /// Returns whether a response may be stored; the default is `true`.
    ///
    /// Spelling: `func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { … }`.
    func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool

    /// Returns a request whose method, URL, header fields and body are used in place of building one, or `nil`, the
    /// default, to build it.
    ///
    /// URL filters and parameters are not applied to it; all later stages are.
    ///
    /// Spelling: `func customURLRequest() throws -> URLRequest? { … }`.
    func customURLRequest() throws -> URLRequest?

    /// A tag for scopes and accessories; the default is empty.
    ///
    /// Spelling: `var tag: String { "feed" }`.
    var tag: String { get }

    /// Values for later stages, carried in the ``RequestContext``; the default is none.
    ///
    /// Spelling: `var attributes: [String: any Sendable] { ["screen": "home"] }`.
    var attributes: [String: any Sendable] { get }
}
