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

        /// Whether it is a removal by the program, which what sends replace must not push out.
        fileprivate var isOfManyURLs: Bool {
            switch self {
            case .group, .key: false
            default: true
            }
        }
    }

    /// A point in time, by the removals before it.
    struct Ticket: Sendable {
        fileprivate var number: Int
        /// That of the request itself, for the removals by unsafe requests.
        fileprivate var sentNumber: Int
        /// Identifies the exchange, whose own removals don't concern its response.
        fileprivate let id: Int
        /// Identifies the send, in the same way.
        fileprivate var sendID: Int
        let date: Date

        /// The same send, with the removals before the earlier of both tickets.
        ///
        /// - Parameters:
        ///   - other: A ticket of the send, from before something was looked up.
        ///   - includesURL: Whether this is also so for removals of the URL, because the response contains what was looked
        ///     up; a new response was requested later.
        /// - Returns: A ticket of this send.
        func noLater(than other: Ticket, includesURL: Bool) -> Ticket {
            var ticket = self
            ticket.number = min(number, other.number)
            ticket.sendID = other.id
            if includesURL { ticket.sentNumber = min(sentNumber, other.sentNumber) }
            return ticket
        }
    }

    private struct Removal {
        var number: Int
        /// The number of the removal before this one.
        var previous: Int
        var date: Date
        /// The send that removed what it replaces.
        var ticket: Ticket?
        /// The date of the last removal that no send did.
        var explicitDate: Date?
    }

    /// The maximum number of removals that are kept.
    static let maximumCount = 4096

    private var last: [Extent: Removal] = [:]
    private var number = 0
    private var lastID = 0
    /// The date of the latest removal.
    private var latest = Date.distantPast
    /// The last removal that is no longer kept, or was of entries by a condition: no response from before it is stored.
    private var unknown = 0

    /// Returns a ticket to be taken before a request is sent.
    mutating func ticket(at date: Date) -> Ticket {
        lastID += 1
        return Ticket(number: number, sentNumber: number, id: lastID, sendID: lastID, date: date)
    }

    /// Moves removals to the current time if their date is in the future, because a clock was set back: otherwise everything
    /// would be hidden until then.
    mutating func noteTime(_ now: Date) {
        // Threads read the clock before they have the lock.
        guard latest > now + 1 else { return }
        latest = now
        for (extent, removal) in last {
            last[extent]?.date = min(removal.date, now)
            last[extent]?.explicitDate = removal.explicitDate.map { min($0, now) }
        }
    }

    /// Records a removal.
    ///
    /// - Parameters:
    ///   - extent: What was removed.
    ///   - date: The time of the removal.
    ///   - ticket: The send that removed what its own response replaces, or `nil` if nothing may be stored.
    mutating func add(_ extent: Extent, at date: Date, by ticket: Ticket? = nil) {
        noteTime(date)
        latest = max(latest, date)
        number += 1
        let old = last[extent]
        if case .key = extent, let ticket, let old, let oldTicket = old.ticket {
            // Of several sends that removed it, the one that was requested last counts.
            let later = oldTicket.id > ticket.id ? oldTicket : ticket
            last[extent] = Removal(number: number, previous: old.previous, date: date, ticket: later)
        } else {
            last[extent] = Removal(number: number, previous: old?.number ?? 0, date: date, ticket: ticket)
        }
        last[extent]?.explicitDate = ticket == nil ? date : old?.explicitDate
        guard last.count > Self.maximumCount else { return }
        // Half at once, so that this is rare.
        let oldest = last.values.map(\.number).sortedUnspecialized(by: <)[last.count / 2]
        unknown = max(unknown, oldest)
        let isManyOfUsers = last.count { $0.key.isOfManyURLs } > Self.maximumCount / 4
        last = last.filter { $0.value.number > oldest || !isManyOfUsers && $0.key.isOfManyURLs }
    }

    /// Records a removal of entries by a condition.
    mutating func addUnknown() {
        number += 1
        unknown = number
    }

    /// Returns whether a response that was requested after a ticket may be stored.
    func allow(_ entry: CacheEntry, for key: CacheKey, since ticket: Ticket) -> Bool {
        if ticket.number == number { return true }
        return ticket.number >= unknown && Self.extents(of: entry, key).allSatisfy { allow($0, since: ticket) }
    }

    /// Returns whether an entry that was read after a ticket is still stored.
    func keep(_ entry: CacheEntry, for key: CacheKey, readAfter ticket: Ticket) -> Bool {
        if ticket.number == number { return true }
        return ticket.number >= unknown
            && Self.extents(of: entry, key).allSatisfy { last[$0]?.number ?? 0 <= ticket.number }
    }

    private func allow(_ extent: Extent, since ticket: Ticket) -> Bool {
        guard let last = last[extent] else { return true }
        var isOwn = last.ticket.map { $0.id == ticket.id || $0.id == ticket.sendID } ?? false
        // What a send replaces or discards is no reason to refuse a response that was requested after its own.
        if case .key = extent, let own = last.ticket, own.id < ticket.id { isOwn = true }
        let number = isOwn ? last.previous : last.number
        if case .group = extent { return number <= ticket.sentNumber }
        return number <= ticket.number
    }

    /// Returns whether an entry that was read from disk was requested before it was removed.
    func hide(_ entry: CacheEntry, for key: CacheKey) -> Bool {
        guard !last.isEmpty else { return false }
        return Self.extents(of: entry, key).contains { extent in
            guard let last = last[extent], entry.requested < last.date else { return false }
            // The response to the request that removed the entries of its URL; files have its time in microseconds.
            if case .group = extent, entry.method == .post, let own = last.ticket?.date {
                return abs(own.timeIntervalSince(entry.requested)) > 2e-6
            }
            // A send that replaces an entry may have requested its own response before.
            if case .key = extent, last.ticket != nil { return last.explicitDate.map { entry.requested < $0 } ?? false }
            return true
        }
    }

    private static func extents(of entry: CacheEntry, _ key: CacheKey) -> [Extent] {
        [.all, .scope(entry.scope), .user(entry.user), .variant(entry.variant), .group(key.group), .key(key)]
    }
}
