/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: Sendable, Hashable {
        /// The request's body, to the server.
        case upload
        /// The response's body, from the server.
        case download
    }

    /// The direction of the transfer.
    public var direction: Direction
    /// The number of bytes so far.
    public var completed: Int64
    /// The total number of bytes, or `nil` if it is not known.
    public var total: Int64?

    /// Creates the progress of a transfer.
    ///
    /// A `total` of `nil` means that it is not known.
    public init(direction: Direction, completed: Int64, total: Int64? = nil) {
        self.direction = direction
        self.completed = completed
        self.total = total
    }

    /// The completed fraction, from 0 to 1; 0 while the total is not known, and 1 if it is 0.
    public var fractionCompleted: Double {
        guard let total, total > 0 else { return total == 0 ? 1 : 0 }
        return min(1, max(0, Double(completed) / Double(total)))
    }
}
