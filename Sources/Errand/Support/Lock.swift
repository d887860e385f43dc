internal import Foundation

/// A value that only one thread at a time can see.
///
/// Over `NSLock` and not `Synchronization.Mutex`, which the thread sanitizer cannot see on Linux. No foreign code may
/// be called inside `withLock`.
///
/// Unchecked: `state` is only ever touched between `lock` and `unlock` of `mutex`.
package final class Lock<State>: @unchecked Sendable {
    private let mutex = NSLock()
    private var state: State

    package init(_ state: sending State) { self.state = state }

    package func withLock<Value, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        mutex.lock()
        defer { mutex.unlock() }
        return try body(&state)
    }
}
