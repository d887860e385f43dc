extension Duration {
    /// The longest time that the library waits for: a century, which system timers still count in nanoseconds.
    private static let century = Duration.seconds(3_155_760_000)

    /// This duration, at most a century either way, so that arithmetic with a caller's number cannot overflow.
    var clamped: Duration { min(max(self, .zero - Self.century), Self.century) }
}
