#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// What is known of the one serial queue that all URLSessions of a process share.
///
/// Making and starting a task waits for that queue. While it is free that is much cheaper than a change of thread; while
/// a large body runs through it the wait can last seconds, and then another thread has to do it.
enum SharedQueue {
    /// A body of fewer bytes keeps nobody waiting.
    static let largeBody = 64 << 10

    /// A start that took longer than this has met a busy queue.
    private static let patience: UInt64 = 2_000_000

    /// How long the queue may be silent with work to do before it counts as busy: a head that does not end is such work.
    private static let silence: UInt64 = 20_000_000

    private static let busyUntil = Atomic<UInt64>(0)
    private static let callbackThread = Atomic<UInt>(0)
    private static let lastCallback = Atomic<UInt64>(0)
    private static let exchangeCount = Atomic<Int>(0)

    /// Whether a task can be made here and now without waiting long.
    static var isFree: Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        guard callbackThread.load(ordering: .relaxed) != thread, busyUntil.load(ordering: .relaxed) < now else {
            return false
        }
        return exchangeCount.load(ordering: .relaxed) == 0 || now < lastCallback.load(ordering: .relaxed) &+ silence
    }

    /// An exchange has begun; it will end.
    static func exchangeBegan() { exchangeCount.wrappingAdd(1, ordering: .relaxed) }

    static func exchangeEnded() { exchangeCount.wrappingSubtract(1, ordering: .relaxed) }

    /// Notes that a large body is on its way.
    static func isBusy() { stayBusy(from: DispatchTime.now().uptimeNanoseconds, for: 100_000_000) }

    /// Runs work that waits for the queue, and learns from the time that it took.
    static func measuring(_ work: () -> Void) {
        let began = DispatchTime.now().uptimeNanoseconds
        work()
        let ended = DispatchTime.now().uptimeNanoseconds
        if ended &- began > patience { stayBusy(from: ended, for: 1_000_000_000) }
    }

    /// Runs a callback of URLSession: from inside, waiting for the queue would never end.
    static func callback(_ work: () -> Void) {
        callbackThread.store(thread, ordering: .relaxed)
        work()
        callbackThread.store(0, ordering: .relaxed)
        lastCallback.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// A session that never has a task: a way into the queue.
    private static let door = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: InlineQueue())

    /// Runs `work` on the queue, behind all that waits there now.
    static func afterItsWork(_ work: @escaping @Sendable () -> Void) { door.getAllTasks { _ in work() } }

    private static func stayBusy(from now: UInt64, for time: UInt64) {
        let end = now &+ time
        if busyUntil.load(ordering: .relaxed) < end { busyUntil.store(end, ordering: .relaxed) }
    }

    /// The current thread, as a number that no other has.
    private static var thread: UInt {
        #if canImport(Glibc)
        UInt(pthread_self())
        #else
        UInt(bitPattern: pthread_self())
        #endif
    }
}

/// Runs URLSession's callbacks where they arise, in order, instead of queueing them.
///
/// That keeps a slow reader's body in the socket and not in memory. `addOperation` with a closure is all that
/// URLSession calls.
///
/// Unchecked: it has no state.
final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        SharedQueue.callback(block)
    }
}
#endif
