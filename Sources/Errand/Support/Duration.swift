extension Duration {
    /// The maximum duration that the library waits: a century, which system timers can still represent in nanoseconds.
    private static let century = Duration.seconds(3_155_760_000)

    /// This duration, limited to a century in both directions so that arithmetic with a caller's number cannot overflow.
    var clamped: Duration { min(max(self, .zero - Self.century), Self.century) }

    /// This duration in seconds.
    var timeInterval: Double {
        let parts = components
        return Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
    }

    /// The duration in a suitable unit: `85 µs`, `34 ms`, `1.25 s`.
    var words: String {
        let seconds = timeInterval
        if seconds >= 1 { return "\((seconds * 100).rounded() / 100) s" }
        if seconds >= 0.001 { return "\(Int((seconds * 1000).rounded())) ms" }
        return "\(Int((seconds * 1_000_000).rounded())) µs"
    }
}
