// The types of members of a request that have few values.

/// The priority of a request among those that wait for a permit, as ``Throttle`` describes.
///
/// It changes the order of waiting and is not sent. The request with the highest priority starts first, and among equals the
/// oldest. If eight in a row have overtaken an older request that could have started, that one is next.
public enum RequestPriority: Int, Sendable, Hashable, Comparable {
    /// The priorities in ascending order.
    case low, normal, high

    /// Whether the first priority is the lower one.
    public static func < (one: RequestPriority, other: RequestPriority) -> Bool { one.rawValue < other.rawValue }
}

/// What happens to a send if an equal one is in flight.
///
/// Sends are equal if they have the same type, service, credentials, cache policy, acceptance, filter and limits of the
/// exchange, and the same method, URL, header fields and body or the same ``Request/duplicateKey``. The header fields are
/// compared before adapters run, without `Idempotency-Key`. Without a ``Request/duplicateKey``, a request whose body is read
/// while it is sent equals no other.
public enum DuplicatePolicy: Sendable, Hashable {
    /// Both sends run; a send with this policy does not affect others either.
    case allow
    /// The new send joins the one in flight and receives the same response or the same error.
    ///
    /// The request is sent once, with the first send's retries and priority. Each send formats its own model and keeps
    /// its own deadline. Cancelling one does not affect the others; when the last one is cancelled, so is the request.
    case share
    /// The new send runs, and the old one ends with `CancellationError`.
    case cancelPrevious
    /// The new send fails with ``NetworkError/Reason/duplicate``.
    case rejectNew
}

/// Where a request whose types are `Sendable` is prepared and its payload is formatted.
///
/// In a request, write `var formattingContext: FormattingContext { .caller }`. A request that is not `Sendable`, or
/// whose `Model` or `Formatter` is not, is always prepared and formatted on the caller's actor.
public enum FormattingContext: Sendable, Hashable {
    /// Off the caller's actor, on the concurrent pool.
    case background
    /// On the actor that sends the request.
    case caller
}

/// The value of the `Idempotency-Key` field, by which a server recognizes a repeated POST or PATCH.
///
/// In a request, write `var idempotencyKey: IdempotencyKey { .automatic }`, or a string literal such as `"order-\(id)"`.
public struct IdempotencyKey: Sendable, Hashable, ExpressibleByStringInterpolation {
    enum Source: Sendable, Hashable {
        case absent
        case automatic
        case value(String)
    }

    let source: Source

    /// No field is sent.
    public static let absent = IdempotencyKey(source: .absent)

    /// A random UUID for each send, the same for all its attempts.
    public static let automatic = IdempotencyKey(source: .automatic)

    /// Creates a key from a string.
    public init(_ value: String) { source = .value(value) }
    /// Creates a key from a literal.
    public init(stringLiteral value: String) { source = .value(value) }

    private init(source: Source) { self.source = source }
}

/// Which origins receive the credentials of the config and the service.
///
/// Credentials are ``InheritedSettings/authorization``, header fields that ``Secrets/headers`` names, all base parameters, and
/// what URL filters and adapters add. The header fields, the query, the parameters and the authorization of the request itself
/// are sent wherever the request is sent.
///
/// When a redirect leaves the origin, the request's authorization and header fields that ``Secrets/headers`` names are removed. A
/// 307 or 308 sends the body again, with the parameters in it (RFC 9110, section 15.4); to prevent that, such as for a password,
/// give the request a ``RedirectPolicy`` with a veto.
///
/// An ``AuthenticationSession`` is not affected: its ``Authenticator/appliesTo(_:)`` decides for each URL.
///
/// In a request, write `var credentialPolicy: CredentialPolicy { .requestOrigin }`.
public enum CredentialPolicy: String, Sendable, Hashable, CustomStringConvertible {
    /// The origins of the service's base URL and CDN, or else the config's, and those in
    /// ``InheritedSettings/credentialOrigins`` of both. This is the default.
    ///
    /// Without a base URL and such a list, it is the origin of the request's own URL.
    case ownOrigins
    /// The origin of the request's URL as well, whatever it is. A redirect to another origin removes credentials.
    case requestOrigin
    /// Every origin, including the targets of redirects. Cookies and an ``AuthenticationSession``'s credential are still
    /// removed.
    case anyOrigin

    /// A description of the policy.
    public var description: String {
        switch self {
        case .ownOrigins: "own origins"
        case .requestOrigin: "the request's origin"
        case .anyOrigin: "any origin"
        }
    }
}
