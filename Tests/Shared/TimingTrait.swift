import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Runs only where `ERRAND_TIMING` is set: what it measures means something only while no other test runs.
    static var timing: Self { .enabled(if: ProcessInfo.processInfo.environment["ERRAND_TIMING"] != nil) }
}
