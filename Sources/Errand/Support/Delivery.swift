/// A value that is delivered once to one waiting caller.
///
/// The first delivery counts, whether it comes before or after the caller waits; later ones are dropped. The value is passed
/// under the lock and not by the continuation, because the thread sanitizer does not see the ordering of a continuation that
/// is resumed before its task has suspended. Copies are the same delivery.
///
/// The code that takes the continuation out of the state resumes it, so it is resumed once. A checked one would check that
/// again, and its size is not known to the compiler.
package struct Delivery<Value: Sendable>: Sendable {
    private struct State {
        var isDelivered = false
        /// The value until it is taken.
        var value: Value?
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Lock(State())

    package init() {}

    /// Whether a value has been delivered.
    package var isDelivered: Bool { state.withLock { $0.isDelivered } }

    /// Delivers a value unless one has been delivered before.
    ///
    /// - Returns: Whether this value is the one that counts.
    @discardableResult
    package func deliver(_ value: consuming Value) -> Bool {
        var value = Optional(value)
        let (counts, waiter) = state.withLock { state -> (Bool, UnsafeContinuation<Void, Never>?) in
            guard !state.isDelivered else { return (false, nil) }
            (state.isDelivered, state.value) = (true, value.take())
            return (true, state.waiter.take())
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
                    guard !state.isDelivered else { return true }
                    state.waiter = continuation
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    /// Returns the value if it has been delivered; returns it only once.
    func take() -> Value? { state.withLock { $0.value.take() } }
}
