/// A value that is delivered once to one waiting caller.
///
/// The first delivery counts, whether it comes before or after the caller waits; later ones are dropped. The value is passed
/// under the lock and not by the continuation, because the thread sanitizer does not see the ordering of a continuation that
/// is resumed before its task has suspended. Copies are the same delivery.
///
/// Whoever takes the continuation out of the state resumes it, so it is resumed once. A checked one would be checked for that
/// again, and is of a size that the compiler does not know.
package struct Delivery<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(UnsafeContinuation<Void, Never>)
        case delivered(Value)
        case taken
    }

    private let state = Lock(State.empty)

    package init() {}

    /// Whether a value has been delivered.
    package var isDelivered: Bool {
        state.withLock { state in
            switch state {
            case .empty, .awaited: false
            case .delivered, .taken: true
            }
        }
    }

    /// Delivers a value unless one has been delivered before.
    ///
    /// - Returns: Whether this value is the one that counts.
    @discardableResult
    package func deliver(_ value: Value) -> Bool {
        let (counts, waiter) = state.withLock { state -> (Bool, UnsafeContinuation<Void, Never>?) in
            switch state {
            case .empty:
                state = .delivered(value)
                return (true, nil)
            case .awaited(let waiter):
                state = .delivered(value)
                return (true, waiter)
            case .delivered, .taken: return (false, nil)
            }
        }
        waiter?.resume()
        return counts
    }

    /// Waits for the value; may be called once.
    package func value() async -> Value {
        while true {
            if let value = take() { return value }
            await withUnsafeContinuation { continuation in
                let isThere = state.withLock { state in
                    guard case .empty = state else { return true }
                    state = .awaited(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    /// Returns the value if it has been delivered; returns it only once.
    func take() -> Value? {
        state.withLock { state in
            guard case .delivered = state else { return nil }
            var taken = State.taken
            swap(&taken, &state)
            guard case .delivered(let value) = taken else { return nil }
            return value
        }
    }
}
