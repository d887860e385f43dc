/// The maximum number of refreshes that an ``AuthenticationSession`` starts within a time, so that a server that rejects every
/// credential does not cause endless refreshes.
public struct RefreshWindow: Sendable {
    /// The maximum number of refreshes that start in ``duration``; 0 allows none.
    ///
    /// A refresh without a connection to its server doesn't count, nor does one before the last login. The default is 5.
    public let maximumCount: Int

    /// The length of the window, which moves with time.
    ///
    /// A failed refresh is remembered for the same time. If the network prevented it, only sends whose credential was not
    /// rejected use that. The default is 30 seconds.
    public let duration: Duration

    /// The maximum time of a refresh; the next send after it cancels the refresh and starts another one.
    ///
    /// The default is 60 seconds.
    public let deadline: Duration

    /// The start times of the last refreshes, oldest first.
    private var starts: [Duration] = []

    /// Creates a window.
    ///
    /// A negative count is replaced by 0.
    public init(maximumCount: Int = 5, duration: Duration = .seconds(30), deadline: Duration = .seconds(60)) {
        self.maximumCount = max(0, maximumCount)
        self.duration = duration.clamped
        self.deadline = deadline.clamped
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

    /// Forgets the refreshes so far.
    mutating func restart() { starts = [] }

    /// Removes a refresh that started at a time and was not sent.
    mutating func discount(_ start: Duration) {
        if let index = starts.lastIndex(of: start) { starts.remove(at: index) }
    }
}
