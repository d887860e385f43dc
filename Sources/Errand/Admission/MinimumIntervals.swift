/// The times when sends of each identity were admitted: a pure function of times.
struct MinimumIntervals: Sendable {
    private struct Entry {
        let sendID: Int
        let end: Duration
    }

    /// The maximum number of known identities; beyond it, the ones admitted longest ago are forgotten.
    static let maximumCount = 10_000

    private var entries = HostTable<DuplicateKey, Entry>(limit: MinimumIntervals.maximumCount)

    init() {}

    /// The number of known identities.
    var count: Int { entries.count }

    /// Admits a send, or returns how long it has to wait.
    ///
    /// - Parameters:
    ///   - key: Its identity.
    ///   - sendID: Its number. A send that an interceptor repeats is admitted again.
    ///   - interval: The minimum time between two sends.
    ///   - now: The time on the agent's timeline.
    /// - Returns: `nil` if it is admitted.
    mutating func admit(_ key: DuplicateKey, sendID: Int, interval: Duration, at now: Duration) -> Duration? {
        if let last = entries[key], last.sendID != sendID, last.end > now { return last.end - now }
        let entry = Entry(sendID: sendID, end: now + min(interval, .seconds(366 * 86_400)))
        entries.change(key, default: entry) { $0 = entry }
        return nil
    }
}
