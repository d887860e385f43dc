#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// An API, declared as a value.
///
/// Two things are for you to say, ``Model`` and ``path``; everything else has a default, given with each member
/// together with the spelling that overrides it. A spelling that differs in type is a new property to Swift and changes
/// nothing, so copy it; `plan(for:)` of ``Agent`` tells which values hold and where they come from.
///
/// A request need not be `Sendable`. One that is, with `Model` and `Formatter`, is prepared and formatted in the
/// background; every other on the actor that sends it, so plain types of a module isolated to the main actor just work.
public protocol Request<Model> {
    /// What the answer becomes: `Decodable` for JSON, `String` for text, `Data` for bytes, `Void` for nothing,
    /// `JSONValue` for any JSON; with a ``formatter`` of your own, any type.
    associatedtype Model

    /// The type of ``filter``.
    associatedtype Filter: ResponseFilter = InheritedFilter

    /// The type of ``formatter``.
    associatedtype Formatter: ResponseFormatter = DefaultFormatter<Model> where Formatter.Output == Model

    // MARK: Where

    /// The path below the base URL, or an absolute URL, which skips the base.
    ///
    /// Already-encoded text: valid escapes stay, illegal characters are encoded, `?` starts the query. One slash
    /// stands between base and path, whether you write it or not. Write values that may contain anything as
    /// `\(component: value)`, which encodes what would change the path. A path below the base URL with `.` or `..` as a
    /// component, or with `#`, fails with ``NetworkError/Kind/invalidRequest``; in an absolute URL these are resolved and
    /// left out (RFC 3986, section 5.2.4).
    ///
    /// Spelling: `var path: String { "/users/\(id)" }`, or `{ "/users/\(component: name)" }`.
    var path: String { get }

    /// The service it belongs to; default ``Service/default``.
    ///
    /// Spelling: `var service: Service { .shop }`.
    var service: Service { get }

    /// Whether the path starts at the CDN's URL; default `false`.
    ///
    /// Spelling: `var usesCDN: Bool { true }`.
    var usesCDN: Bool { get }

    /// The method; default `.get`.
    ///
    /// Spelling: `var method: HTTPMethod { .post }`.
    var method: HTTPMethod { get }

    // MARK: What it carries

    /// What stands in the query with any method; default nothing.
    ///
    /// Spelling: `var query: Parameters { ["page": page] }`.
    var query: Parameters { get throws }

    /// Names and values for the query or the body, as ``parameterEncoding`` says; default the stored properties of an
    /// `Encodable` request, else nothing.
    ///
    /// Of stored properties `nil` is not sent, `_id` is sent as `id`, and those that are members of this protocol are
    /// not sent unless `CodingKeys: String` list them. With a ``body`` of its own a request does not send them.
    ///
    /// Parameters of service and config are put where these are, or would be. A request with a body of its own that would
    /// have them in the body sends none of them: the body is sent as it is, and the query is no place for what may be
    /// secret. To send them in the query with such a request, set ``parameterEncoding`` to `.query`.
    ///
    /// Spelling: `var parameters: Parameters { ["name": name] }`.
    var parameters: Parameters { get throws }

    /// Where ``parameters`` go and how they are written; default `.automatic`.
    ///
    /// Spelling: `var parameterEncoding: ParameterEncoding { .form }`.
    var parameterEncoding: ParameterEncoding { get }

    /// What follows the head; default `.automatic`, from the parameters.
    ///
    /// Spelling: `var body: RequestBody { .json(order) }`, or `{ get throws { … } }`.
    var body: RequestBody { get throws }

    /// Fields over those of service and config; default none.
    ///
    /// Spelling: `var headers: HTTPHeaders { ["Accept-Language": "en"] }`.
    var headers: HTTPHeaders { get }

    /// The `Authorization` field; default `.inherited`. `.anonymous` removes one among the headers of service and config.
    ///
    /// Spelling: `var authorization: Authorization { .bearer(token) }`.
    var authorization: Authorization { get }

    /// Which origins receive credentials of service and config; default `.ownOrigins`.
    ///
    /// Spelling: `var credentialPolicy: CredentialPolicy { .requestOrigin }`.
    var credentialPolicy: CredentialPolicy { get }

    /// The `Idempotency-Key` field; default `.absent`.
    ///
    /// Spelling: `var idempotencyKey: IdempotencyKey { .automatic }`.
    var idempotencyKey: IdempotencyKey { get }

    /// Whether headers of service and config are sent; default `true`.
    ///
    /// Spelling: `var usesBaseHeaders: Bool { false }`.
    var usesBaseHeaders: Bool { get }

    /// Whether parameters of service and config are sent, as ``parameters`` says; default `true`.
    ///
    /// Spelling: `var usesBaseParameters: Bool { false }`.
    var usesBaseParameters: Bool { get }

    // MARK: How it is sent

    /// Times and sizes; default all inherited.
    ///
    /// Spelling: `var limits: Limits { Limits(timeout: .seconds(5)) }`.
    var limits: Limits { get }

    /// The place among those that wait for a slot; default `.normal`.
    ///
    /// Spelling: `var priority: Priority { .high }`.
    var priority: Priority { get }

    /// Whether the cellular network may be used, on platforms that have one; default `true`.
    ///
    /// Spelling: `var allowsCellularAccess: Bool { false }`.
    var allowsCellularAccess: Bool { get }

    /// Which failures are tried again; default `.inherited`.
    ///
    /// Spelling: `var retryPolicy: RetryPolicy { .never }`.
    var retryPolicy: RetryPolicy { get }

    /// Which redirects are followed; default `.inherited`.
    ///
    /// Spelling: `var redirectPolicy: RedirectPolicy { .refuse }`.
    var redirectPolicy: RedirectPolicy { get }

    /// When a stored answer is used; default `.inherited`.
    ///
    /// Spelling: `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
    var cachePolicy: CachePolicy { get }

    /// What else belongs into the cache key; default nothing.
    ///
    /// Spelling: `var cacheIdentity: CacheIdentity { CacheIdentity(variant: userID) }`.
    var cacheIdentity: CacheIdentity { get }

    /// What happens when an equal send, by ``duplicateKey``, is in flight; default `.allow`.
    ///
    /// Spelling: `var duplicatePolicy: DuplicatePolicy { .share }`.
    var duplicatePolicy: DuplicatePolicy { get }

    /// What makes two sends of this type equal for ``duplicatePolicy`` and ``Limits/minimumInterval``, beside service
    /// and credentials; default empty, which stands for method, URL, headers and body.
    ///
    /// Spelling: `var duplicateKey: String { "search" }`.
    var duplicateKey: String { get }

    // MARK: What counts as an answer, and what becomes of it

    /// Which answers are accepted; default statuses 200 to 299 of any type.
    ///
    /// Spelling: `var acceptance: Acceptance { Acceptance(statusCodes: 200..<400) }`.
    var acceptance: Acceptance { get }

    /// Opens the envelope; default that of the service, else of the config.
    ///
    /// Spelling: `var filter: PassthroughFilter { .passthrough }`, or with another filter's type.
    var filter: Filter { get }

    /// Makes the model; default by the model's type.
    ///
    /// Spelling: `var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }`, or with another formatter's type.
    var formatter: Formatter { get }

    /// Where a `Sendable` request is prepared and formatted; default `.background`.
    ///
    /// Spelling: `var formattingContext: FormattingContext { .caller }`.
    var formattingContext: FormattingContext { get }

    // MARK: Hooks

    /// Told of this request alone, inside those of config and service; default none.
    ///
    /// Spelling: `var accessories: [any Accessory] { [printer] }`.
    var accessories: [any Accessory] { get }

    /// Checked before anything is built; what it throws reaches the caller unchanged, and nothing is sent.
    ///
    /// Spelling: `func check() throws { … }`.
    func check() throws

    /// Told the model on success, where it was made; what it throws makes the send a failure.
    ///
    /// Spelling: `func didProduce(_ model: User, from response: RawResponse) throws { … }`.
    func didProduce(_ model: Model, from response: RawResponse) throws

    /// Whether an answer may be stored; default `true`.
    ///
    /// Spelling: `func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { … }`.
    func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool

    /// A request that replaces building: URL, filters, parameters, headers and body are taken from it, everything
    /// after that stays; default `nil`, which builds.
    ///
    /// Spelling: `func customURLRequest() throws -> URLRequest? { … }`.
    func customURLRequest() throws -> URLRequest?

    /// A mark for scopes and accessories; default empty.
    ///
    /// Spelling: `var tag: String { "feed" }`.
    var tag: String { get }

    /// What later stages are to know, carried in the ``RequestContext``; default empty.
    ///
    /// Spelling: `var attributes: [String: any Sendable] { ["screen": "home"] }`.
    var attributes: [String: any Sendable] { get }
}
