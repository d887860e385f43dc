internal import Dispatch

/// How long a send waits for a slow store altogether, however many entries it reads.
final class CachePatience: Sendable {
    /// The usual maximum in milliseconds; a disk takes a few.
    static let maximum = 500

    /// In nanoseconds.
    private let left: Lock<Int>

    /// Creates the patience of a send.
    ///
    /// - Parameters:
    ///   - maximum: The maximum in milliseconds.
    ///   - rest: The time until the send's deadline, of which half is left to the network, or `nil` if it has none.
    init(maximum: Int = CachePatience.maximum, until rest: Duration? = nil) {
        let half = max(0, min(rest.map { $0.timeInterval / 2 } ?? .infinity, Double(maximum) / 1000))
        left = Lock(Int(half * 1e9))
    }

    /// The time at which a read that begins now is late, or `nil` if none may begin.
    var deadline: DispatchTime? {
        let left = left.withLock { $0 }
        return left > 0 ? .now() + .nanoseconds(left) : nil
    }

    /// Subtracts the time of a wait.
    func spend(since began: DispatchTime) {
        let now = DispatchTime.now().uptimeNanoseconds
        let spent = now > began.uptimeNanoseconds ? Int(clamping: now - began.uptimeNanoseconds) : 0
        left.withLock { $0 = max(0, $0 - min(spent, $0)) }
    }
}
