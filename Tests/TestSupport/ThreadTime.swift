internal import Foundation

/// Returns the processor time that synchronous work takes on its thread, which other work on the machine does not change.
public func threadTime(of work: () throws -> Void) rethrows -> Duration {
    let began = threadTime()
    try work()
    return threadTime() - began
}

private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
