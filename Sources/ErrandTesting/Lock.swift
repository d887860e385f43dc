import Foundation

/// Guards a value that several threads change.
///
/// Over `NSLock`, because thread sanitizer cannot see `Synchronization.Mutex` on Linux.
final class Lock<State: Sendable>: @unchecked Sendable {
    // Unchecked: `state` is only touched while `lock` is held.
    private let lock = NSLock()
    private var state: State

    init(_ state: State) { self.state = state }

    /// Runs a closure with the value; it must not call outside code and must not enter the same lock again.
    func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }
}
