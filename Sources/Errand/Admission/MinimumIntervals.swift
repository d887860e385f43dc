/// When sends of each identity were let through: a pure function of times that forgets what counts no more.
struct MinimumIntervals: Sendable {
    private struct Entry {
        let sendID: Int
        let end: Duration
    }

    /// The most identities that are known at once; beyond it those are forgotten whose interval ends first.
    static let maximumCount = 10_000

    private var entries: [DuplicateKey: Entry] = [:]

    init() {}

    /// How many identities are known.
    var count: Int { entries.count }

    /// Lets a send through, or says how long it has to wait.
    ///
    /// - Parameters:
    ///   - key: Its identity.
    ///   - sendID: Its number: a send that comes again, sent anew by an interceptor, is let through again.
    ///   - interval: The time that must lie between two sends.
    ///   - now: The time on the agent's timeline.
    /// - Returns: `nil` when it may go on.
    mutating func admit(_ key: DuplicateKey, sendID: Int, interval: Duration, at now: Duration) -> Duration? {
        if let last = entries[key], last.sendID != sendID, last.end > now { return last.end - now }
        if entries.count >= Self.maximumCount, entries[key] == nil { forget(at: now) }
        entries[key] = Entry(sendID: sendID, end: now + min(interval, .seconds(366 * 86_400)))
        return nil
    }

    private mutating func forget(at now: Duration) {
        entries = entries.filter { $0.value.end > now }
        guard entries.count > Self.maximumCount / 2 else { return }
        for entry in entries.sorted(by: { $0.value.end < $1.value.end }).prefix(Self.maximumCount / 2) {
            entries[entry.key] = nil
        }
    }
}
