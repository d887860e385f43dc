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

/// When to report the progress of a body: after each hundredth of it, at least 64 KiB, and at its end.
///
/// If the total is not known, it is a hundredth of the bytes so far, so that the number of reports grows slowly.
struct ProgressSteps: Sendable {
    /// The size up to which a body is too small for progress reports.
    static let smallest: Int64 = 64 << 10

    let direction: TransferProgress.Direction
    private(set) var total: Int64?
    /// Whether the end of a small body is reported, too.
    private let includesSmall: Bool
    private var reported: Int64 = 0
    /// Whether the end was reported.
    private var hasEnded = false

    init(direction: TransferProgress.Direction, total: Int64?, includesSmall: Bool = false) {
        self.direction = direction
        self.total = total
        self.includesSmall = includesSmall
    }

    /// Returns the progress to report after so many bytes, or `nil` if it is too early.
    mutating func progress(at completed: Int64) -> TransferProgress? {
        // The end is reported by `last`, so that it is reported once.
        guard completed != total, completed &- reported >= max(Self.smallest, (total ?? completed) / 100) else {
            return nil
        }
        reported = completed
        return TransferProgress(direction: direction, completed: completed, total: total)
    }

    /// Returns the progress to report at the end, or `nil` if the end was reported already, or if the body is too small to be
    /// reported.
    mutating func last(at completed: Int64) -> TransferProgress? {
        guard includesSmall || completed > Self.smallest, !hasEnded || completed != reported else { return nil }
        (reported, total, hasEnded) = (completed, completed, true)
        return TransferProgress(direction: direction, completed: completed, total: completed)
    }

    /// Starts over, because the body is sent again.
    mutating func restart() { (reported, hasEnded) = (0, false) }
}

extension TransferProgress {
    /// Whether the body is so small that only a ``SmallBodyObserver`` is notified.
    var isOfSmallBody: Bool { total.map { $0 <= ProgressSteps.smallest } ?? false }
}
