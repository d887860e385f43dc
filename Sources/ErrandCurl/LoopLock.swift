#if os(Linux)
internal import Foundation

/// A value that only one thread can access at a time; the library's `Lock` is not specialized in another module, which
/// took a tenth of the processor time of a send.
///
/// Outside code must not be called inside `withLock`, except that the source of a request's body is read while the event loop's
/// transfers are locked: on the event loop's own thread, for which no caller waits. Copies are the same lock.
///
/// Unchecked: the state is only accessed while the mutex beside it is held.
struct LoopLock<State>: @unchecked Sendable {
    private let storage: ManagedBuffer<State, pthread_mutex_t>

    init(_ state: sending State) {
        storage = LoopLockStorage<State>.create(minimumCapacity: 1) { _ in state }
        storage.withUnsafeMutablePointerToElements { mutex in
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }
    }

    func withLock<Value>(_ body: (inout State) -> Value) -> Value {
        let (state, mutex) = storage.withUnsafeMutablePointers { ($0, $1) }
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            extendLifetime(storage)
        }
        return body(&state.pointee)
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

private final class LoopLockStorage<State>: ManagedBuffer<State, pthread_mutex_t> {
    deinit { withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) } }
}
#endif
