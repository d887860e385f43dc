internal import Foundation

/// The cookies of a ``CookieJar``; every change is a function of state and time.
struct CookieStore: Sendable {
    /// The maximum number of cookies with the same domain.
    static let maximumCountPerDomain = 50
    /// The maximum number of cookies.
    static let maximumCount = 3000
    /// The maximum number of bytes of a `Cookie` field.
    static let maximumFieldByteCount = 32 << 10
    /// The maximum number of seconds by which the date of expiry of a cookie in the file may be wrong.
    static let datePrecision = 60.0

    private struct Stored: Sendable {
        private(set) var cookie: Cookie
        /// The position in the order of creation.
        let created: UInt64
        /// The position in the order of use.
        var used: UInt64
        /// The date of expiry in the file.
        private var savedDate: Date?

        init(_ cookie: Cookie, at position: UInt64) {
            (self.cookie, created, used, savedDate) = (cookie, position, position, cookie.expires)
        }

        /// The order in which cookies are removed: `https` cookies and cookies that no other host can have set are last.
        func givesWay(before other: Stored) -> Bool {
            if cookie.isSecure != other.cookie.isSecure { return !cookie.isSecure }
            return cookie.isHostOnly == other.cookie.isHostOnly ? used < other.used : !cookie.isHostOnly
        }

        /// Returns whether the file has to be written.
        mutating func replace(with new: Cookie) -> Bool {
            defer { cookie = new }
            if new == cookie { return false }
            var same = new
            same.expires = cookie.expires
            if same == cookie, let date = new.expires, let savedDate,
                abs(date.timeIntervalSince(savedDate)) < CookieStore.datePrecision
            {
                return false
            }
            savedDate = new.expires
            return new.expires != nil || cookie.expires != nil
        }
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

    /// Returns the cookies to send to an origin, with longer paths first, then older ones first (RFC 6265, section 5.4).
    ///
    /// If they do not fit into a field, the first ones in the order of removal are omitted.
    mutating func cookies(for origin: CookieOrigin, at now: Date, isUse: Bool = true) -> [Cookie] {
        var found: [Stored] = []
        for domain in origin.domains {
            for stored in domains[domain] ?? [] where stored.cookie.isSent(to: origin) {
                if !stored.cookie.isExpired(at: now) { found.append(stored) }
            }
        }
        var excess = found.reduce(-2) { $0 + $1.cookie.byteCount + 2 } - Self.maximumFieldByteCount
        if excess > 0 {
            found = found.sortedUnspecialized { $0.givesWay(before: $1) }
            let omitted = found.prefix { stored in
                defer { excess -= stored.cookie.byteCount + 2 }
                return excess > 0
            }
            found.removeFirst(omitted.count)
        }
        if isUse { use(found) }
        return found.sortedUnspecialized { one, other in
            let (length, otherLength) = (one.cookie.path.utf8.count, other.cookie.path.utf8.count)
            return length == otherLength ? one.created < other.created : length > otherLength
        }.map(\.cookie)
    }

    private mutating func use(_ stored: [Stored]) {
        for one in stored {
            guard let place = domains[one.cookie.domain]?.firstIndex(where: { $0.created == one.created }) else {
                continue
            }
            let time = tick()
            domains[one.cookie.domain]?[place].used = time
        }
    }

    /// Adds a cookie, or replaces the one with its name, domain and path; an expired cookie only removes it.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - isSecure: Whether it comes from a response over `https`.
    ///   - now: The current time.
    /// - Returns: Whether the cookies with a date of expiry have changed, other than by less than ``datePrecision``.
    mutating func set(_ cookie: Cookie, isSecure: Bool, at now: Date) -> Bool {
        if !isSecure, !cookie.isSecure, coversSecureCookie(cookie, at: now) { return false }
        var list = domains[cookie.domain] ?? []
        let place = list.firstIndex { $0.cookie.name == cookie.name && $0.cookie.path == cookie.path }
        defer { domains[cookie.domain] = list.isEmpty ? nil : list }
        guard !cookie.isExpired(at: now) else {
            guard let place else { return false }
            count -= 1
            return list.remove(at: place).cookie.expires != nil
        }
        if let place {
            list[place].used = tick()
            return list[place].replace(with: cookie)
        }
        var isChanged = cookie.expires != nil
        if list.count >= Self.maximumCountPerDomain {
            let before = list.count
            list.removeAll { $0.cookie.isExpired(at: now) }
            if list.count == before {
                // Cookies over http must not displace cookies that only https may set (RFC 6265bis, section 5.7).
                let first = list.indices.min { list[$0].givesWay(before: list[$1]) }
                guard let first, isSecure || !list[first].cookie.isSecure else { return false }
                if list.remove(at: first).cookie.expires != nil { isChanged = true }
            }
            count -= before - list.count
        }
        list.append(Stored(cookie, at: tick()))
        count += 1
        if count > Self.maximumCount {
            domains[cookie.domain] = list
            makeRoom(at: now)
            list = domains[cookie.domain] ?? []
            isChanged = true
        }
        return isChanged
    }

    /// Removes the cookies for which a closure returns `true`.
    ///
    /// - Returns: Whether there were any.
    mutating func removeAll(where isRemoved: (Cookie) -> Bool) -> Bool {
        removeStored { isRemoved($0.cookie) }
    }

    private mutating func removeStored(where isRemoved: (Stored) -> Bool) -> Bool {
        let before = count
        domains = domains.mapValues { $0.filter { !isRemoved($0) } }.filter { !$0.value.isEmpty }
        count = domains.values.reduce(0) { $0 + $1.count }
        return count < before
    }

    /// Whether a cookie from a response without `https` would be sent in place of a secure one (RFC 6265bis, section 5.7).
    private func coversSecureCookie(_ cookie: Cookie, at now: Date) -> Bool {
        func isWithin(_ one: String, _ other: String) -> Bool { one == other || one.hasSuffix("." + other) }
        return domains.contains { domain, list in
            list.contains {
                $0.cookie.isSecure && $0.cookie.name == cookie.name
                    && Cookie.path(cookie.path, isWithin: $0.cookie.path) && !$0.cookie.isExpired(at: now)
            } && (isWithin(domain, cookie.domain) || isWithin(cookie.domain, domain))
        }
    }

    /// Removes the expired cookies, and if that is not enough, the first tenth in the order of removal.
    private mutating func makeRoom(at now: Date) {
        guard !removeAll(where: { $0.isExpired(at: now) }) || count > Self.maximumCount else { return }
        let all = domains.values.joined().sortedUnspecialized { $0.givesWay(before: $1) }
        let removed = Set(all.prefix(count / 10 + 1).map(\.created))
        _ = removeStored { removed.contains($0.created) }
    }

    private mutating func tick() -> UInt64 {
        clock &+= 1
        return clock
    }
}
