/// The urgency of a request among those that wait for a turn, as ``Throttle`` says.
///
/// It changes the order of waiting, nothing on the wire. The most urgent goes first, and among equals the one that came
/// first. After eight in a row that passed one that came earlier and could have gone, that one goes.
public enum Priority: Int, Sendable, Hashable, Comparable {
    /// Least urgent first.
    case low, normal, high

    /// Whether the first is the less urgent of two.
    public static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }
}

/// Where a request whose types are `Sendable` is prepared and its payload becomes a model.
///
/// Spelling in a request: `var formattingContext: FormattingContext { .caller }`. A request that is not `Sendable`, or
/// whose `Model` or `Formatter` is not, is always prepared and formatted on its caller.
public enum FormattingContext: Sendable, Hashable {
    /// Off the caller's actor, on the concurrent pool.
    case background
    /// On the actor that sends the request.
    case caller
}

/// What happens to a send whose equal is in flight already.
///
/// Sends are equal when they are of one type, go to one service with the same credentials, and have the same method,
/// URL, headers and body, or the same ``Request/duplicateKey``. The headers are those before adapters, but for
/// `Idempotency-Key`; the cache policy must be the same, too. A request whose body is read while it is sent has no equal
/// without such a key.
public enum DuplicatePolicy: Sendable, Hashable {
    /// Both run; those that say this are not in the way of others either.
    case allow
    /// The new one joins and receives the same answer, or the same error.
    ///
    /// The request is sent once, as the first one says, with its retries and its priority. Each makes its own model of
    /// the answer and keeps its own deadline. Who is cancelled leaves the others alone; when the last one leaves, the
    /// request is cancelled.
    case share
    /// The new one runs, the old one ends with `CancellationError`.
    case cancelPrevious
    /// The new one fails with ``NetworkError/Reason/duplicate``.
    case rejectNew
}

/// The value of the `Idempotency-Key` field, by which a server knows a repeated POST or PATCH.
///
/// Spelling in a request: `var idempotencyKey: IdempotencyKey { .automatic }`, or a string literal.
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

    /// A key of your own.
    public init(_ value: String) { source = .value(value) }
    /// A key of your own, as a literal.
    public init(stringLiteral value: String) { source = .value(value) }

    private init(source: Source) { self.source = source }
}
