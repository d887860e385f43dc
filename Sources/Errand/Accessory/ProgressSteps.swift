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
