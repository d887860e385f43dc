internal import Foundation

/// The removals from a cache, as epochs: a response whose send began before the removal of entries like it is not stored.
///
/// If another process stores one, it is not read.
struct CacheRemovals: Sendable {
    /// What was removed, other than the entries of a URL.
    enum Extent: Sendable, Hashable {
        case all
        case scope(String)
        case user(String)
        case variant(String)
    }

    /// A point in time, by the removals before it.
    struct Ticket: Sendable {
        fileprivate var number: Int
        /// That of the request itself, for the removals of its URL.
        fileprivate var sentNumber: Int
        /// Identifies the exchange, whose own removal does not concern its response.
        fileprivate let id: Int
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
            if includesURL { ticket.sentNumber = min(sentNumber, other.sentNumber) }
            return ticket
        }
    }

    /// The last removal of some entries.
    private struct Epoch {
        var number = 0
        /// In microseconds.
        var date = Int64.min
        /// The digest of the URL, or 0.
        var url: UInt64 = 0
        /// The exchange that may still store its response, or 0 if none may.
        var owner = 0

        func isAfter(_ entry: CacheEntry, at now: Int64) -> Bool {
            // One in the future is unknown, because a clock was set back; threads read it before they have the lock.
            entry.requested.microseconds < date && date <= now + 1_000_000
        }
    }

    private static let maximumCount = 1024
    private var number = 0
    private var lastID = 0
    private var epochs: [Extent: Epoch] = [:]
    /// Those of URLs, by their digests: a URL that shares its place with another one costs a miss.
    private var urls: [Epoch] = []
    /// The last removal by a condition, or that was forgotten.
    private var unknown = 0

    /// Returns a ticket to be taken before a request is sent.
    mutating func ticket(at date: Date) -> Ticket {
        lastID += 1
        return Ticket(number: number, sentNumber: number, id: lastID, date: date)
    }

    /// Records a removal.
    mutating func add(_ extent: Extent, at date: Date) {
        number += 1
        if epochs.count >= Self.maximumCount { (epochs, unknown) = (epochs.filter { $0.key == .all }, number) }
        epochs[extent] = Epoch(number: number, date: date.microseconds)
    }

    /// Records a removal of the entries of the URL of a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - date: The time of the removal.
    ///   - ticket: The exchange whose own response may be stored, or `nil` if none may.
    mutating func add(urlOf key: CacheKey, at date: Date, by ticket: Ticket? = nil) {
        number += 1
        if urls.isEmpty { urls = Array(repeating: Epoch(), count: Self.maximumCount) }
        let old = urls[Self.place(of: key)]
        var new = Epoch(number: number, date: (ticket?.date ?? date).microseconds, url: key.group)
        if let ticket, old.number <= ticket.sentNumber || old.owner == ticket.id { new.owner = ticket.id }
        if old.url == new.url { new.date = max(new.date, old.date) }
        urls[Self.place(of: key)] = new
    }

    /// Records a removal by a condition: no response from before it is stored.
    mutating func addUnknown() {
        number += 1
        unknown = number
    }

    /// Returns whether a response that was requested after a ticket may be stored.
    func allow(_ entry: CacheEntry, for key: CacheKey, since ticket: Ticket) -> Bool {
        if min(ticket.number, ticket.sentNumber) == number { return true }
        let url = urls.isEmpty ? Epoch() : urls[Self.place(of: key)]
        return ticket.number >= unknown && (url.number <= ticket.sentNumber || url.owner == ticket.id)
            && Self.extents(of: entry).allSatisfy { epochs[$0]?.number ?? 0 <= ticket.number }
    }

    /// Returns whether an entry that was read from disk was requested before it was removed.
    func hide(_ entry: CacheEntry, for key: CacheKey, at now: Date) -> Bool {
        guard number > 0 else { return false }
        let now = now.microseconds
        if !urls.isEmpty, case let url = urls[Self.place(of: key)], url.url == key.group, url.isAfter(entry, at: now) {
            return true
        }
        return !epochs.isEmpty && Self.extents(of: entry).contains { epochs[$0]?.isAfter(entry, at: now) ?? false }
    }

    private static func place(of key: CacheKey) -> Int { Int(truncatingIfNeeded: key.group) & (maximumCount - 1) }

    private static func extents(of entry: CacheEntry) -> [Extent] {
        [.all, .scope(entry.scope), .user(entry.user), .variant(entry.variant)]
    }
}
