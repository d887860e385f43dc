#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The observed state of the one serial queue that all URLSessions of a process share.
///
/// Creating and starting a task waits for that queue. While it is free, waiting is much cheaper than a thread hop; while
/// a large body passes through it, the wait can last seconds, and another thread has to do it.
enum SessionQueueLoad {
    /// The size from which a body makes other tasks wait.
    static let largeBody = 64 << 10

    /// The time, in nanoseconds, after which a start indicates a busy queue.
    private static let patience: UInt64 = 2_000_000

    /// The time without a callback, in nanoseconds, after which a queue with work counts as busy.
    ///
    /// An endless header section is such work.
    private static let silence: UInt64 = 20_000_000

    private static let busyUntil = Atomic<UInt64>(0)
    private static let callbackThread = Atomic<UInt>(0)
    private static let lastCallback = Atomic<UInt64>(0)
    private static let exchangeCount = Atomic<Int>(0)

    /// Whether a task can be created on this thread without a long wait.
    static var isFree: Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        guard callbackThread.load(ordering: .relaxed) != thread, busyUntil.load(ordering: .relaxed) < now else {
            return false
        }
        return exchangeCount.load(ordering: .relaxed) == 0 || now < lastCallback.load(ordering: .relaxed) &+ silence
    }

    /// Records that an exchange has begun; it will end.
    static func exchangeBegan() { exchangeCount.wrappingAdd(1, ordering: .relaxed) }

    static func exchangeEnded() { exchangeCount.wrappingSubtract(1, ordering: .relaxed) }

    /// Records that a large body is being received.
    static func isBusy() { stayBusy(from: DispatchTime.now().uptimeNanoseconds, for: 100_000_000) }

    /// Runs work that waits for the queue, and measures how long it took.
    static func measuring(_ work: () -> Void) {
        let began = DispatchTime.now().uptimeNanoseconds
        work()
        let ended = DispatchTime.now().uptimeNanoseconds
        if ended &- began > patience { stayBusy(from: ended, for: 1_000_000_000) }
    }

    /// Runs a callback of URLSession and records its thread, on which waiting for the queue would never end.
    static func callback(_ work: () -> Void) {
        callbackThread.store(thread, ordering: .relaxed)
        work()
        callbackThread.store(0, ordering: .relaxed)
        lastCallback.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// A session without tasks that gives access to the queue.
    private static let door = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: InlineQueue())

    /// Runs `work` on the queue, after all that waits there now.
    static func afterItsWork(_ work: @escaping @Sendable () -> Void) { door.getAllTasks { _ in work() } }

    private static func stayBusy(from now: UInt64, for time: UInt64) {
        let end = now &+ time
        if busyUntil.load(ordering: .relaxed) < end { busyUntil.store(end, ordering: .relaxed) }
    }

    /// The current thread, as a unique number.
    private static var thread: UInt {
        #if canImport(Glibc)
        UInt(pthread_self())
        #else
        UInt(bitPattern: pthread_self())
        #endif
    }
}

/// Runs URLSession's callbacks on the calling thread, in order, instead of queueing them.
///
/// This keeps a slow reader's body in the socket and not in memory. `addOperation` with a closure is all that
/// URLSession calls.
///
/// Unchecked: it has no state.
final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        SessionQueueLoad.callback(block)
    }
}
#endif
