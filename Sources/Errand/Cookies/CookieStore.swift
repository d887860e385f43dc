internal import Foundation

/// The cookies of a ``CookieJar``; every change is a function of state and time.
struct CookieStore: Sendable {
    /// The maximum number of cookies with the same domain.
    static let maximumCountPerDomain = 50
    /// The maximum number of cookies.
    static let maximumCount = 3000

    private struct Stored: Sendable {
        var cookie: Cookie
        /// The position in the order of creation.
        let created: UInt64
        /// The position in the order of use.
        var used: UInt64
    }

    /// The cookies by domain.
    private var domains: [String: [Stored]] = [:]
    private(set) var count = 0
    private var clock: UInt64 = 0

    /// The cookies that have not expired, in the order of their creation.
    func cookies(at now: Date) -> [Cookie] {
        domains.values.joined().filter { !$0.cookie.isExpired(at: now) }
            .sortedUnspecialized { $0.created < $1.created }.map(\.cookie)
    }

    /// Returns the cookies to send to an origin: those with longer paths first, then older ones first (RFC 6265, section 5.4).
    mutating func cookies(for origin: CookieOrigin, at now: Date, isUse: Bool = true) -> [Cookie] {
        var found: [Stored] = []
        for domain in origin.domains {
            guard let list = domains[domain] else { continue }
            for (place, stored) in list.enumerated() where stored.cookie.isSent(to: origin) {
                guard !stored.cookie.isExpired(at: now) else { continue }
                found.append(stored)
                guard isUse else { continue }
                let time = tick()
                domains[domain]?[place].used = time
            }
        }
        return found.sortedUnspecialized { one, other in
            let (length, otherLength) = (one.cookie.path.utf8.count, other.cookie.path.utf8.count)
            return length == otherLength ? one.created < other.created : length > otherLength
        }.map(\.cookie)
    }

    /// Adds a cookie, or replaces the one with its name, domain and path; an expired one only removes that.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - isSecure: Whether it comes from a response over `https`.
    ///   - now: The current time.
    /// - Returns: Whether a cookie with a date of expiry was added, replaced or removed.
    mutating func set(_ cookie: Cookie, isSecure: Bool, at now: Date) -> Bool {
        if !isSecure, !cookie.isSecure, coversSecureCookie(cookie) { return false }
        var list = domains[cookie.domain] ?? []
        let place = list.firstIndex { $0.cookie.name == cookie.name && $0.cookie.path == cookie.path }
        let wasPersistent = place.map { list[$0].cookie.expires != nil } ?? false
        defer { domains[cookie.domain] = list.isEmpty ? nil : list }
        guard !cookie.isExpired(at: now) else {
            if let place {
                list.remove(at: place)
                count -= 1
            }
            return wasPersistent
        }
        if let place {
            let isSame = list[place].cookie == cookie
            list[place].cookie = cookie
            list[place].used = tick()
            return !isSame && (wasPersistent || cookie.expires != nil)
        }
        if list.count >= Self.maximumCountPerDomain {
            let before = list.count
            list.removeAll { $0.cookie.isExpired(at: now) }
            if list.count == before, let oldest = list.indices.min(by: { list[$0].used < list[$1].used }) {
                list.remove(at: oldest)
            }
            count -= before - list.count
        }
        let position = tick()
        list.append(Stored(cookie: cookie, created: position, used: position))
        count += 1
        if count > Self.maximumCount {
            domains[cookie.domain] = list
            makeRoom(at: now)
            list = domains[cookie.domain] ?? []
        }
        return cookie.expires != nil
    }

    /// Removes the cookies for which a closure returns `true`.
    ///
    /// - Returns: Whether there were any.
    mutating func removeAll(where isRemoved: (Cookie) -> Bool) -> Bool {
        let before = count
        domains = domains.compactMapValues { list in
            let kept = list.filter { !isRemoved($0.cookie) }
            return kept.isEmpty ? nil : kept
        }
        count = domains.values.reduce(0) { $0 + $1.count }
        return count < before
    }

    /// Whether a cookie from a response without `https` would be sent in place of a secure one (RFC 6265bis, section 5.7).
    private func coversSecureCookie(_ cookie: Cookie) -> Bool {
        func isWithin(_ one: String, _ other: String) -> Bool { one == other || one.hasSuffix("." + other) }
        return domains.contains { domain, list in
            list.contains {
                $0.cookie.isSecure && $0.cookie.name == cookie.name
                    && Cookie.path(cookie.path, isWithin: $0.cookie.path)
            } && (isWithin(domain, cookie.domain) || isWithin(cookie.domain, domain))
        }
    }

    /// Removes the expired cookies, and a tenth of all if that is not enough: those that were not used for the longest time.
    private mutating func makeRoom(at now: Date) {
        _ = removeAll { $0.isExpired(at: now) }
        guard count > Self.maximumCount else { return }
        let times = domains.values.joined().map(\.used).sortedUnspecialized(by: <)
        let limit = times[count / 10]
        domains = domains.compactMapValues { list in
            let kept = list.filter { $0.used > limit }
            return kept.isEmpty ? nil : kept
        }
        count = domains.values.reduce(0) { $0 + $1.count }
    }

    private mutating func tick() -> UInt64 {
        clock &+= 1
        return clock
    }
}
