/// The settings that requests inherit from their ``Service``, or else from the ``NetworkConfig``.
///
/// Its properties are properties of both: `config.headers`, `service.headers`.
public struct InheritedSettings: Sendable {
    /// The URL that relative paths are resolved against, or `nil` for the config's; without one, paths are absolute.
    public var baseURL: BaseURL?

    /// The URL that relative paths of requests with `usesCDN` are resolved against, or `nil` for the config's.
    ///
    /// If a service has a base URL of its own, the config's is not used.
    public var cdnURL: BaseURL?

    /// Further URLs of the CDN, which are tried in order if ``cdnURL`` fails.
    ///
    /// A request with `usesCDN` and a safe method, such as GET, moves on to the next URL without a delay if it cannot
    /// connect, loses the connection, exceeds its idle timeout, or receives a status of 500 to 599. Each URL is used
    /// once in a send; further attempts of the ``RetryPolicy`` use the last one. The next send begins with ``cdnURL``
    /// again. ``Metrics/attempts`` show where each attempt was sent, and the cache key has the first URL. The default is
    /// none; they belong to ``cdnURL``, so the config's are used only together with the config's ``cdnURL``.
    public var cdnFallbacks: [BaseURL] = []

    /// Further origins that receive the credentials of config and service: `["https://files.example"]`.
    ///
    /// They are added to the origins of the base URL and the CDN; the service's are added to the config's. Only scheme, host
    /// and port count. Without a base URL and without such a list, credentials are sent to the origin of each request's own
    /// URL. A request opts out with ``Request/credentialPolicy``. The default is none.
    public var credentialOrigins: [BaseURL] = []

    /// The header fields of all requests; the service's override the config's.
    ///
    /// A request opts out with `usesBaseHeaders`. Fields that ``Secrets/headers`` names are sent only to the origins
    /// that ``CredentialPolicy`` allows. The origins of each service are among them, unless it has a value of its own.
    public var headers = HTTPHeaders()

    /// The parameters of all requests; the service's override the config's.
    ///
    /// A request opts out with `usesBaseParameters`. They are sent only to the origins that ``CredentialPolicy`` allows,
    /// including the origins of each service. The request's ``Request/parameterEncoding`` determines whether in the query or
    /// the body. A request with a ``Request/body`` of its own sends them only if they belong to the query.
    public var parameters = Parameters()

    /// The place and the format of the parameters of requests that have none of their own, such as `.form`.
    ///
    /// By default, they are inherited; the library's are ``ParameterEncoding/automatic``.
    public var parameterEncoding = ParameterEncoding.inherited

    /// The authorization of requests that have none of their own; by default, it is inherited, and the library has none.
    ///
    /// The config's is sent to the origins that ``CredentialPolicy`` allows, including the origins of each service. If it is
    /// not meant for a service, give the service its own, such as ``Authorization/anonymous``.
    public var authorization = Authorization.inherited

    /// The session whose credential requests send, and which refreshes it after an unauthorized response.
    ///
    /// By default, it is inherited; the library has none.
    public var authentication = Authentication.inherited

    /// The conditions for accepting a response to requests that have none of their own.
    ///
    /// By default, they are inherited; the library's are status codes 200 to 299 and any content type.
    public var acceptance = Acceptance.inherited

    /// The filter that unwraps the envelope of responses, or `nil` for the config's; without one, the payload is the complete
    /// body.
    public var filter: (any ResponseFilter)?

    /// The URL filters, which change the URL of every request, in order, the config's first.
    public var urlFilters: [any URLFilter] = []

    /// The adapters, which change the request of every attempt, in order, the config's first.
    public var adapters: [any RequestAdapter] = []

    /// The interceptors of every attempt, the first outermost, such as a ``CircuitBreaker``; the service's run inside the
    /// config's.
    ///
    /// A ``CookieJar`` and a ``DigestAuthentication`` wrap each exchange, redirects included, inside of all others. By default, there is
    /// none.
    public var interceptors: [any Interceptor] = []

    /// The interceptors of every send, the first outermost; the service's run inside the config's.
    public var sendInterceptors: [any SendInterceptor] = []

    /// The accessories of every send, notified from the outside in: of the config, the service, and the request.
    public var accessories: [any Accessory] = []

    /// The limits of time and size.
    ///
    /// A limit of `nil` is inherited; the library's are in ``Limits/library``.
    public var limits = Limits()

    /// The rules for which failures are retried; by default, they are inherited.
    public var retryPolicy = RetryPolicy.inherited

    /// The rules for which redirects are followed; by default, they are inherited.
    public var redirectPolicy = RedirectPolicy.inherited

    /// The rules for when a cached response is used.
    ///
    /// By default, they are inherited; the library's are ``CachePolicy/networkOnly``.
    public var cachePolicy = CachePolicy.inherited

    /// The cache in which responses are stored; only a service has one.
    var cacheStorage = CacheStorage.inherited

    /// The gates, called in order before every send, the config's first.
    public var sendGates: [any SendGate] = []

    /// The maximum number of requests on the wire at once, and the maximum rate of requests.
    ///
    /// By default, they are inherited; the library has no limit.
    public var throttle = Throttle.inherited
}
