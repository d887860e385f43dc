/// When the progress of a body is worth telling: after each hundredth of it, 64 KiB at least, and at its end.
struct ProgressSteps: Sendable {
    /// What is no larger is there before anybody could look.
    static let smallest: Int64 = 64 << 10

    let direction: TransferProgress.Direction
    private(set) var total: Int64?
    private var told: Int64 = 0

    init(direction: TransferProgress.Direction, total: Int64?) {
        self.direction = direction
        self.total = total
    }

    /// What is to be told after so many bytes; `nil` when it is too little.
    mutating func progress(at completed: Int64) -> TransferProgress? {
        // Told by `last`, so that it is told once.
        guard completed != total, completed &- told >= max(Self.smallest, (total ?? 0) / 100) else { return nil }
        told = completed
        return TransferProgress(direction: direction, completed: completed, total: total)
    }

    /// What is to be told at the end; `nil` when that was told already, or the body was small.
    mutating func last(at completed: Int64) -> TransferProgress? {
        guard completed > Self.smallest, completed != told || completed != total else { return nil }
        (told, total) = (completed, completed)
        return TransferProgress(direction: direction, completed: completed, total: completed)
    }

    /// The body is sent once more, from its start.
    mutating func restart() { told = 0 }
}
