import Foundation
import Testing

/// Expects that eight times as much work takes less than 24 times as long; quadratic work would take 64 times.
///
/// It measures the time of its own thread, so other work on the machine does not count.
func expectLinear(
    _ count: Int,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: (_ count: Int) -> Void
) {
    func time(_ count: Int) -> Double {
        let began = threadTime()
        work(count)
        return threadTime() - began
    }
    let few = (0..<3).map { _ in time(count) }.min() ?? 0
    // Once is enough if it is fast enough.
    var many = time(8 * count)
    for _ in 0..<2 where many >= 24 * few + 0.005 { many = min(many, time(8 * count)) }
    #expect(many < 24 * few + 0.005, "\(count): \(few) s, \(8 * count): \(many) s", sourceLocation: sourceLocation)
}

/// The time that the current thread has worked, in seconds.
func threadTime() -> Double { time(of: CLOCK_THREAD_CPUTIME_ID) }

/// The time that all threads of the process have worked, in seconds.
func processTime() -> Double { time(of: CLOCK_PROCESS_CPUTIME_ID) }

private func time(of clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}
