import Errand
import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Runs only where `ERRAND_TIMING` is set: what it measures means something only while no other test runs.
    static var timing: Self { .enabled(if: ProcessInfo.processInfo.environment["ERRAND_TIMING"] != nil) }
}

/// Wakes every 5 milliseconds and notes how late it was: what the machine, and other tests on it, add to every time that
/// is measured meanwhile.
final class Metronome: Sendable {
    private let lags = Lock<[Duration]>([])

    /// Runs work, and returns its result with the lags that were seen meanwhile, sorted; never empty.
    static func during<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> (Value, lags: [Duration]) {
        let metronome = Metronome()
        let beat = Task {
            while !Task.isCancelled {
                let began = ContinuousClock.now
                // What is measured is the machine, not a policy.
                try? await Task.sleep(for: .milliseconds(5))
                let lag = ContinuousClock.now - began - .milliseconds(5)
                metronome.lags.withLock { $0.append(max(.zero, lag)) }
            }
        }
        defer { beat.cancel() }
        let value = try await work()
        return (value, (metronome.lags.withLock { $0 } + [.zero]).sorted())
    }
}
