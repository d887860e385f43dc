internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Cancels tasks of URLSession on a queue of its own, first those that wait for a connection.
///
/// A cancelled task passes its connection on to a waiting one, which would send its request even if it is cancelled a
/// moment later. So tasks that are cancelled within some milliseconds are cancelled together, the last one first.
/// Callers do not wait.
final class SessionCancellations: Sendable {
    private static let pause = DispatchTimeInterval.milliseconds(2)
    /// The number of tasks in one pause from which many are being cancelled, so that the rest of them is waited for.
    private static let manyCount = 32
    /// The maximum number of pauses before the tasks are cancelled.
    private static let maximumPauseCount = 50

    /// The queue on which tasks are cancelled, and started while the queue of URLSession is busy.
    let queue = DispatchQueue(label: "errand.transport.control", qos: .userInitiated)
    private let tasks = Lock<[URLSessionTask]>([])

    func add(_ task: URLSessionTask) {
        let isFirst = tasks.withLock { tasks in
            tasks.append(task)
            return tasks.count == 1
        }
        if isFirst { cancelTasks(after: 1, laterThan: 0) }
    }

    /// Cancels the added tasks after a pause, and after further pauses while many are added.
    ///
    /// - Parameters:
    ///   - number: The number of this pause, starting at 1.
    ///   - count: The number of tasks before it.
    private func cancelTasks(after number: Int, laterThan count: Int) {
        queue.asyncAfter(deadline: .now() + Self.pause) { [self] in
            let (tasks, newCount) = tasks.withLock { tasks -> ([URLSessionTask], Int) in
                if number < Self.maximumPauseCount, tasks.count - count >= Self.manyCount { return ([], tasks.count) }
                defer { tasks = [] }
                return (tasks, 0)
            }
            if newCount > 0 { return cancelTasks(after: number + 1, laterThan: newCount) }
            for task in tasks.sorted(by: { $0.taskIdentifier > $1.taskIdentifier }) { task.cancel() }
        }
    }
}
