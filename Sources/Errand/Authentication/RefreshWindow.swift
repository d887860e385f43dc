/// How many refreshes a ``LoginSession`` may start in how much time, so that a server that takes no credential is not
/// asked for new ones forever.
public struct RefreshWindow: Sendable {
    /// The most refreshes that start in ``duration``; 0 allows none.
    public let maximumCount: Int

    /// The length of the window, which moves with time; a failed refresh is remembered for as long.
    public let duration: Duration

    /// When the last refreshes started, oldest first.
    private var starts: [Duration] = []

    /// 5 refreshes in 30 seconds unless you say otherwise; a negative count is 0.
    public init(maximumCount: Int = 5, duration: Duration = .seconds(30)) {
        self.maximumCount = max(0, maximumCount)
        self.duration = duration.clamped
    }

    /// Whether a refresh may start now.
    func hasRoom(at now: Duration) -> Bool { starts.lazy.filter { $0 > now - duration }.count < maximumCount }

    /// Counts a refresh that starts now, unless the window is full.
    ///
    /// - Parameter now: A time that never runs backwards.
    /// - Returns: Whether it may start.
    mutating func admit(at now: Duration) -> Bool {
        starts.removeAll { $0 <= now - duration }
        guard starts.count < maximumCount else { return false }
        starts.append(now)
        return true
    }
}
