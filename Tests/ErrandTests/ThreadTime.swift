import Foundation

/// The processor time that work takes on its thread, the least of five runs: other load on the machine doesn't count.
func threadTime(of work: () -> Void) -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
    return (0..<5).map { _ in
        let began = now()
        work()
        return now() - began
    }.min() ?? .zero
}
