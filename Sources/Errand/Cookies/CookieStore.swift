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
            if list.count == before {
                // Cookies over http must not displace those that only https may set (RFC 6265bis, section 5.7).
                let plain = list.indices.filter { !list[$0].cookie.isSecure }
                guard isSecure || !plain.isEmpty else { return false }
                let oldest = (plain.isEmpty ? Array(list.indices) : plain).min { list[$0].used < list[$1].used }
                if let oldest { list.remove(at: oldest) }
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

    /// Removes the expired cookies, and a tenth of all if that is not enough: those that were not used for the longest time,
    /// and of them first those that are not secure.
    private mutating func makeRoom(at now: Date) {
        _ = removeAll { $0.isExpired(at: now) }
        guard count > Self.maximumCount else { return }
        let all = domains.values.joined()
        let times = all.filter { !$0.cookie.isSecure }.map(\.used).sortedUnspecialized(by: <)
        let secureTimes = all.filter(\.cookie.isSecure).map(\.used).sortedUnspecialized(by: <)
        // The last times of those that are removed.
        let excess = count / 10 + 1
        let limit = times.prefix(excess).last ?? 0
        let secureLimit = excess > times.count ? secureTimes[excess - times.count - 1] : 0
        domains = domains.compactMapValues { list in
            let kept = list.filter { $0.used > ($0.cookie.isSecure ? secureLimit : limit) }
            return kept.isEmpty ? nil : kept
        }
        count = domains.values.reduce(0) { $0 + $1.count }
    }

    private mutating func tick() -> UInt64 {
        clock &+= 1
        return clock
    }
}
