/// The times when sends of each identity were admitted: a pure function of times that removes expired entries.
struct MinimumIntervals: Sendable {
    private struct Entry {
        let sendID: Int
        let end: Duration
    }

    /// The maximum number of known identities; beyond it, those whose interval ends first are removed.
    static let maximumCount = 10_000

    private var entries = Table<DuplicateKey, Entry>()

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
        if entries.count >= Self.maximumCount, entries[key] == nil { forget(at: now) }
        entries[key] = Entry(sendID: sendID, end: now + min(interval, .seconds(366 * 86_400)))
        return nil
    }

    private mutating func forget(at now: Duration) {
        entries.removeAll { $0.end <= now }
        guard entries.count > Self.maximumCount / 2 else { return }
        for entry in entries.entries.sortedUnspecialized(by: { $0.value.end < $1.value.end }).prefix(
            Self.maximumCount / 2
        ) {
            entries[entry.key] = nil
        }
    }
}
