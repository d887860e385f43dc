/// The priority of a request among those that wait for a permit, as ``Throttle`` describes.
///
/// It changes the order of waiting and is not sent. The request with the highest priority starts first, and among equals the
/// oldest. If eight in a row have overtaken an older request that could have started, that one is next.
public enum Priority: Int, Sendable, Hashable, Comparable {
    /// The priorities in ascending order.
    case low, normal, high

    /// Whether the first priority is the lower one.
    public static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }
}
