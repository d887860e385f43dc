internal import Foundation

/// The removals from a cache, so that nothing from before one of them comes back.
///
/// A response that was requested before is not stored afterwards. If another process stores one, it is not read.
struct CacheRemovals: Sendable {
    /// What was removed.
    enum Extent: Sendable, Hashable {
        case all
        case scope(String)
        case user(String)
        case variant(String)
        case group(UInt64)
        case key(CacheKey)
    }

    /// A point in time, by the removals before it.
    struct Ticket: Sendable {
        fileprivate var number: Int
        let date: Date
        /// Whether the send itself removes the entries of its URL, once.
        var invalidatesItself = false

        /// The same date, with the removals before the earlier of both tickets.
        func noLater(than other: Ticket) -> Ticket {
            var ticket = self
            ticket.number = min(number, other.number)
            return ticket
        }
    }

    /// The maximum number of removals that are kept.
    static let maximumCount = 4096

    private var last: [Extent: (number: Int, previous: Int, date: Date)] = [:]
    /// The dates of the requests that removed the entries of their own URL.
    private var requests: [UInt64: Date] = [:]
    private var number = 0
    /// The date of the latest removal.
    private var latest = Date.distantPast
    /// The last removal that is no longer kept, or was of entries by a condition: no response from before it is stored.
    private var unknown = 0

    /// Returns a ticket to be taken before a request is sent.
    func ticket(at date: Date) -> Ticket { Ticket(number: number, date: date) }

    /// Moves removals to the current time if their date is in the future, because a clock was set back: otherwise everything
    /// would be hidden until then.
    mutating func noteTime(_ now: Date) {
        // Threads read the clock before they have the lock.
        guard latest > now + 1 else { return }
        latest = now
        for (extent, removal) in last where removal.date > now { last[extent]?.date = now }
    }

    /// Records a removal.
    ///
    /// - Parameters:
    ///   - extent: What was removed.
    ///   - date: The time of the removal.
    ///   - request: The time of the request that removed the entries of its own URL, whose own response is not hidden.
    mutating func add(_ extent: Extent, at date: Date, by request: Date? = nil) {
        noteTime(date)
        latest = max(latest, date)
        number += 1
        if case .group(let group) = extent { requests[group] = request }
        last[extent] = (number, last[extent]?.number ?? 0, date)
        guard last.count > Self.maximumCount else { return }
        // Half at once, so that this is rare.
        let oldest = last.values.map(\.number).sortedUnspecialized(by: <)[last.count / 2]
        unknown = max(unknown, oldest)
        last = last.filter { $0.value.number > oldest }
        requests = requests.filter { last[.group($0.key)] != nil }
    }

    /// Records a removal of entries by a condition.
    mutating func addUnknown() {
        number += 1
        unknown = number
    }

    /// Returns whether a response that was requested after a ticket may be stored.
    func allow(_ entry: CacheEntry, for key: CacheKey, since ticket: Ticket) -> Bool {
        if ticket.number == number { return true }
        return ticket.number >= unknown
            && !Self.extents(of: entry, key).contains { number(of: $0, ticket) > ticket.number }
    }

    /// Returns the number of the last removal that a ticket concerns.
    private func number(of extent: Extent, _ ticket: Ticket) -> Int {
        guard let last = last[extent] else { return 0 }
        if ticket.invalidatesItself, case .group = extent { return last.previous }
        return last.number
    }

    /// Returns whether an entry that was read from disk was requested before it was removed.
    func hide(_ entry: CacheEntry, for key: CacheKey) -> Bool {
        guard !last.isEmpty else { return false }
        return Self.extents(of: entry, key).contains { extent in
            if case .group(let group) = extent, entry.method == .post, requests[group] == entry.requested {
                return false
            }
            return last[extent].map { entry.requested < $0.date } ?? false
        }
    }

    private static func extents(of entry: CacheEntry, _ key: CacheKey) -> [Extent] {
        [.all, .scope(entry.scope), .user(entry.user), .variant(entry.variant), .group(key.group), .key(key)]
    }
}
