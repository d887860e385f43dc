#if !canImport(FoundationNetworking)
internal import Foundation

/// Counts as always free: on Apple platforms sessions share no queue, and creating a task does not wait.
enum SessionQueueLoad {
    /// The size from which a body makes other tasks wait: never.
    static let largeBody = Int.max

    static let isFree = true

    static func exchangeBegan() {}

    static func exchangeEnded() {}

    static func isBusy() {}

    static func measuring(_ work: () -> Void) { work() }

    /// Runs `work` soon; callbacks that wait on a session's delegate queue have the time by which a timeout is delayed.
    static func afterItsWork(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }
}
#endif
