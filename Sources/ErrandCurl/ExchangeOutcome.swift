#if os(Linux)
internal import Errand

/// The response or the error of an exchange, delivered once to its caller.
///
/// The first delivery counts. The value is passed under the lock and not by the continuation, because the thread sanitizer
/// does not see the ordering of a continuation that is resumed before its task has suspended.
struct ExchangeOutcome: Sendable {
    typealias Value = Result<TransportResponse, any Error>

    private struct State {
        var isDelivered = false
        /// The value until it is taken.
        var value: Value?
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = LoopLock(State())

    var isDelivered: Bool { state.withLock { $0.isDelivered } }

    /// Delivers a value unless one was delivered before.
    func deliver(_ value: consuming Value) {
        var value = Optional(value)
        let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard !state.isDelivered else { return nil }
            (state.isDelivered, state.value) = (true, value.take())
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Waits for the value; may be called once.
    func value() async -> Value {
        while true {
            if let value = state.withLock({ $0.value.take() }) { return value }
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
}
#endif
