#if !canImport(FoundationNetworking)
internal import Foundation

/// On Apple platforms sessions share no queue, and making a task waits for nobody: the queue always counts as free.
enum SharedQueue {
    /// No body keeps anybody waiting.
    static let largeBody = Int.max

    static let isFree = true

    static func exchangeBegan() {}

    static func exchangeEnded() {}

    static func isBusy() {}

    static func measuring(_ work: () -> Void) { work() }

    /// Runs `work` soon; callbacks that wait on a session's delegate queue are given time by their exchange's patience.
    static func afterItsWork(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }
}
#endif
