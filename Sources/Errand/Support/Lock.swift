internal import Foundation

#if os(Windows) || os(WASI)
#error("Errand needs the files, threads and sockets of POSIX, which this platform does not have")
#endif

/// A value that only one thread can access at a time.
///
/// Uses a POSIX mutex: the thread sanitizer cannot see `Synchronization.Mutex` on Linux, and an `NSLock` costs three more
/// allocations. Outside code must not be called inside `withLock`. Copies are the same lock.
///
/// Unchecked: the state is only accessed while the mutex beside it is held.
package struct Lock<State>: @unchecked Sendable {
    private let storage: ManagedBuffer<State, pthread_mutex_t>

    package init(_ state: sending State) {
        storage = LockStorage<State>.create(minimumCapacity: 1) { _ in state }
        storage.withUnsafeMutablePointerToElements { mutex in
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }
    }

    package func withLock<Value, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (state, mutex) = storage.withUnsafeMutablePointers { ($0, $1) }
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            extendLifetime(storage)
        }
        return try body(&state.pointee)
    }

    /// Calls a closure like ``withLock(_:)``, unless another thread has the lock.
    ///
    /// - Returns: `nil` if it was not called.
    func withLockIfAvailable<Value>(_ body: (inout State) -> Value) -> Value? {
        let (state, mutex) = storage.withUnsafeMutablePointers { ($0, $1) }
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer {
            pthread_mutex_unlock(mutex)
            extendLifetime(storage)
        }
        return body(&state.pointee)
    }
}

/// The state and its mutex, in one allocation.
private final class LockStorage<State>: ManagedBuffer<State, pthread_mutex_t> {
    deinit { withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) } }
}
