extension Duration {
    /// The maximum duration that the library waits: a century, which system timers can still represent in nanoseconds.
    private static let century = Duration.seconds(3_155_760_000)

    /// This duration, limited to a century in both directions so that arithmetic with a caller's number cannot overflow.
    var clamped: Duration { min(max(self, .zero - Self.century), Self.century) }
}
