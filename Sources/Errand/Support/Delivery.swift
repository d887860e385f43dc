/// A value that is delivered once to one waiting caller.
///
/// The first delivery counts, whether it comes before or after the caller waits; later ones are dropped.
final class Delivery<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, Never>)
        case delivered(Value)
        case taken
    }

    private let state = Lock(State.empty)

    init() {}

    /// Whether a value was delivered.
    var isDelivered: Bool {
        state.withLock { state in
            switch state {
            case .empty, .awaited: false
            case .delivered, .taken: true
            }
        }
    }

    /// Delivers a value, unless one was delivered before.
    ///
    /// - Returns: Whether this value counts.
    @discardableResult
    func deliver(_ value: Value) -> Bool {
        let (counts, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Value, Never>?) in
            switch state {
            case .empty:
                state = .delivered(value)
                return (true, nil)
            case .awaited(let waiter):
                state = .taken
                return (true, waiter)
            case .delivered, .taken: return (false, nil)
            }
        }
        waiter?.resume(returning: value)
        return counts
    }

    /// Waits for the value; called once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value? in
                guard case .delivered(let value) = state else {
                    state = .awaited(continuation)
                    return nil
                }
                state = .taken
                return value
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
