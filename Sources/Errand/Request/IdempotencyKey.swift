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
