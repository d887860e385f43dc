internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Cancels tasks of URLSession on a queue of its own, those that wait for a connection before those that have one.
///
/// A task that is cancelled leaves its connection to one that waits, whose request would be sent although it is cancelled a
/// moment later. So what is cancelled within some milliseconds is cancelled together, the task that began last first. Callers
/// do not wait for it.
final class SessionCancellations: Sendable {
    private static let pause = DispatchTimeInterval.milliseconds(2)

    /// The queue on which tasks are cancelled, and started while the queue of URLSession is busy.
    let queue = DispatchQueue(label: "errand.transport.control", qos: .userInitiated)
    private let tasks = Lock<[URLSessionTask]>([])

    func add(_ task: URLSessionTask) {
        let isFirst = tasks.withLock { tasks in
            tasks.append(task)
            return tasks.count == 1
        }
        if isFirst { queue.asyncAfter(deadline: .now() + Self.pause) { [self] in cancelTasks() } }
    }

    private func cancelTasks() {
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks.sorted(by: { $0.taskIdentifier > $1.taskIdentifier }) { task.cancel() }
    }
}
