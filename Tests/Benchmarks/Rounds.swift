/// The figures of several rounds.
struct Rounds: Sendable {
    /// In the order of the rounds; one at least.
    let values: [Double]

    /// The middle one, or the mean of the two in the middle.
    var median: Double {
        let sorted = values.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// From the smallest to the largest.
    var spread: ClosedRange<Double> { (values.min() ?? 0)...(values.max() ?? 0) }
}
