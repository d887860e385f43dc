import Foundation

/// A random number generator whose run can be repeated (SplitMix64).
///
/// It prints its seed; `ERRAND_SEED` sets it.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(name: String = #function) {
        let given = ProcessInfo.processInfo.environment["ERRAND_SEED"].flatMap(UInt64.init)
        state = given ?? UInt64.random(in: 0 ... .max)
        print("\(name): ERRAND_SEED=\(state)")
    }

    /// Always the same numbers.
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
