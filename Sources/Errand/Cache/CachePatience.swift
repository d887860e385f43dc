internal import Dispatch

/// How long a send waits for a slow store altogether, however many entries it reads.
final class CachePatience: Sendable {
    /// The maximum in milliseconds; a disk takes a few.
    static let maximum = 500

    private let left = Lock(CachePatience.maximum * 1_000_000)

    /// The time at which a read that begins now is late.
    var deadline: DispatchTime { .now() + .nanoseconds(left.withLock { $0 }) }

    /// Subtracts the time of a wait.
    func spend(since began: DispatchTime) {
        let now = DispatchTime.now().uptimeNanoseconds
        let spent = now > began.uptimeNanoseconds ? Int(clamping: now - began.uptimeNanoseconds) : 0
        left.withLock { $0 = max(0, $0 - min(spent, $0)) }
    }
}
