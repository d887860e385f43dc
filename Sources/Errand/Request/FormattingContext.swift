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
