/// The priority of a request among those that wait for a permit, as ``Throttle`` describes.
///
/// It changes the order of waiting and is not sent. The request of the highest priority starts first, and among equals
/// the oldest. After eight in a row that passed an older request that could have started, that one starts.
public enum Priority: Int, Sendable, Hashable, Comparable {
    /// The priorities in ascending order.
    case low, normal, high

    /// Whether the first priority is the lower one.
    public static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }
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

/// What happens to a send if an equal one is in flight.
///
/// Sends are equal if they have the same type, service, credentials, cache policy, acceptance, filter and limits of the
/// exchange, and the same method, URL, header fields and body or the same ``Request/duplicateKey``. The header fields
/// are those before adapters, without `Idempotency-Key`. A request whose body is read while it is sent has no equal
/// without such a key.
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

/// The value of the `Idempotency-Key` field, by which a server recognizes a repeated POST or PATCH.
///
/// In a request, write `var idempotencyKey: IdempotencyKey { .automatic }`, or a string literal.
public struct IdempotencyKey: Sendable, Hashable, ExpressibleByStringLiteral {
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
