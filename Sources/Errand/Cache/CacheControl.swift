internal import Foundation

/// RFC 9111 for a cache of one user's, as pure functions: time, request and entry in, decision out.
enum CacheControl {
    /// What to do with a request for which there is an entry.
    enum Decision: Sendable, Equatable {
        /// The entry is the answer.
        case use
        /// The entry is the answer, and a newer one is fetched behind it.
        case useAndRefresh
        /// The server is asked whether the entry still holds, by these fields.
        case validate(HTTPHeaders, CacheMiss)
        /// The server is asked anew.
        case fetch(CacheMiss)
    }

    /// Decides about an entry whose `Vary` fits the request.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - request: The fields of the request.
    ///   - entry: The stored answer.
    /// - Returns: Whether to use it, and what to ask otherwise.
    static func decision(now: Date, request: HTTPHeaders, entry: CacheEntry) -> Decision {
        let (wishes, rules) = (CacheDirectives(request), CacheDirectives(entry.headers))
        guard let age = age(of: entry, now: now) else { return ask(entry, .clockWentBack) }
        if wishes.noCache || rules.noCache { return ask(entry, .mustRevalidate) }
        let lifetime = freshness(of: entry, rules)
        let isFresh = age < lifetime
        if let limit = wishes.maxAge, age > limit, !(isFresh && rules.isImmutable) { return ask(entry, .expired) }
        if isFresh, age + (wishes.minFresh ?? .zero) <= lifetime { return .use }
        let staleness = age - lifetime
        if rules.mustRevalidate || wishes.minFresh != nil { return ask(entry, .expired) }
        if let limit = wishes.maxStale, staleness <= limit { return .use }
        if let limit = rules.staleWhileRevalidate, staleness <= limit { return .useAndRefresh }
        return ask(entry, .expired)
    }

    /// Whether an entry may be the answer although the server could not be asked, or failed (RFC 9111, sections 4.2.4 and
    /// 4.3.3; RFC 5861, section 4).
    static func mayStandIn(now: Date, request: HTTPHeaders, entry: CacheEntry) -> Bool {
        let (wishes, rules) = (CacheDirectives(request), CacheDirectives(entry.headers))
        if rules.mustRevalidate || rules.noCache || wishes.noCache || wishes.minFresh != nil { return false }
        guard let age = age(of: entry, now: now) else { return false }
        if let limit = wishes.maxAge, age > limit { return false }
        guard let limit = rules.staleIfError ?? wishes.staleIfError else { return true }
        return age - freshness(of: entry, rules) <= limit
    }

    /// To ask the server about an entry, or anew where the entry has nothing to compare by.
    static func ask(_ entry: CacheEntry, _ reason: CacheMiss) -> Decision {
        var fields = HTTPHeaders()
        if let tag = entry.headers["ETag"] { fields["If-None-Match"] = tag }
        if let date = entry.headers["Last-Modified"] { fields["If-Modified-Since"] = date }
        return fields.isEmpty ? .fetch(reason) : .validate(fields, reason)
    }

    // MARK: Age and freshness

    /// How old the answer is since it left the origin; `nil` when a clock was set back (RFC 9111, section 4.2.3).
    static func age(of entry: CacheEntry, now: Date) -> Duration? {
        guard let resident = entry.age(at: now) else { return nil }
        let received = entry.received.timeSince1970
        let date = single("Date", entry.headers).flatMap { HTTPDate.date(from: $0, now: entry.received) }
        let apparent = date.map { max(.zero, received - $0.timeSince1970) } ?? .zero
        let stated = entry.headers.values(for: "Age").first.flatMap { value in
            CacheDirectives.seconds(value.split(separator: ",").first?.filter { $0 != " " })
        }
        let delay = max(.zero, received - entry.requested.timeSince1970)
        return max(apparent, (stated ?? .zero) + delay) + resident
    }

    /// How long the answer is fresh (RFC 9111, sections 4.2.1 and 4.2.2).
    static func freshness(of entry: CacheEntry, _ rules: CacheDirectives) -> Duration {
        if let maxAge = rules.maxAge { return maxAge }
        let now = entry.received
        let date = single("Date", entry.headers).flatMap { HTTPDate.date(from: $0, now: now) } ?? now
        if entry.headers.contains("Expires") {
            // What is no date, such as 0, lies in the past.
            guard let expires = single("Expires", entry.headers).flatMap({ HTTPDate.date(from: $0, now: now) }) else {
                return .zero
            }
            return max(.zero, expires.timeSince1970 - date.timeSince1970)
        }
        guard heuristicStatuses.contains(entry.statusCode) || rules.isPublic,
            let modified = single("Last-Modified", entry.headers).flatMap({ HTTPDate.date(from: $0, now: now) })
        else { return .zero }
        return max(.zero, (date.timeSince1970 - modified.timeSince1970) / 10)
    }

    /// RFC 9110, section 15.1.
    private static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    private static func single(_ name: String, _ headers: HTTPHeaders) -> String? {
        let values = headers.values(for: name)
        return values.count == 1 ? values[0] : nil
    }

    // MARK: Storing

    /// Whether an answer may be stored (RFC 9111, section 3).
    ///
    /// - Parameters:
    ///   - response: The answer as received.
    ///   - request: The fields of the request.
    /// - Returns: `false` also for what could not be used again anyway.
    static func mayStore(_ response: RawResponse, request: HTTPHeaders) -> Bool {
        let (wishes, rules) = (CacheDirectives(request), CacheDirectives(response.headers))
        guard !wishes.noStore, isStorable(response), response.redirects.isEmpty else { return false }
        if rules.mustUnderstand { return understoodStatuses.contains(response.statusCode) }
        guard !rules.noStore else { return false }
        return rules.isPublic || rules.isPrivate || rules.maxAge != nil || response.headers.contains("Expires")
            || heuristicStatuses.contains(response.statusCode)
    }

    /// What no policy stores: a part, an answer to a condition, and what varies by things that no request tells.
    static func isStorable(_ response: RawResponse) -> Bool {
        response.statusCode >= 200 && response.statusCode != 206 && response.statusCode != 304
            && !varyNames(response.headers).contains("*")
    }

    private static let understoodStatuses: Set<Int> = heuristicStatuses.union([
        302, 307, 400, 401, 403, 500, 502, 503, 504,
    ])

    /// The fields that are stored: none of one connection, no cookie, none that must not be used again without asking
    /// (RFC 9111, section 3.1).
    static func storedHeaders(_ headers: HTTPHeaders) -> HTTPHeaders {
        let named = CacheDirectives.names(headers["Connection"] ?? "") + CacheDirectives(headers).noCacheFields
        let left = FieldNames(unstored + named)
        return HTTPHeaders(headers.filter { !left.contains($0.name) })
    }

    private static let unstored = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Set-Cookie", "Set-Cookie2",
    ]

    // MARK: Vary

    /// The names that an answer depends on, in lower case.
    static func varyNames(_ headers: HTTPHeaders) -> [String] {
        headers.values(for: "Vary").flatMap(CacheDirectives.names).map { $0.lowercased() }
    }

    /// What a request says in the fields that an answer depends on.
    static func vary(_ response: HTTPHeaders, request: HTTPHeaders) -> [CacheEntry.VaryField] {
        Set(varyNames(response)).sorted().map { CacheEntry.VaryField(name: $0, digest: digest(request, $0)) }
    }

    /// Whether a request says the same in these fields (RFC 9111, section 4.1).
    static func fits(_ entry: CacheEntry, request: HTTPHeaders) -> Bool {
        entry.vary.allSatisfy { $0.digest == digest(request, $0.name) }
    }

    /// A value may be a secret, so only its digest is kept; white space does not count.
    private static func digest(_ headers: HTTPHeaders, _ name: String) -> String {
        guard let value = headers[name] else { return "" }
        return SHA256.hexadecimal(value.utf8.filter { $0 != 0x20 && $0 != 0x09 })
    }

    // MARK: Validation

    /// The entry after the server has confirmed it; `nil` when it confirmed something else (RFC 9111, section 4.3.4).
    static func merging(
        _ entry: CacheEntry,
        with confirmation: RawResponse,
        requested: Date,
        received: Date
    ) -> CacheEntry? {
        if let tag = confirmation.headers["ETag"] {
            guard let own = entry.headers["ETag"], isSameEntity(own, tag) else { return nil }
        }
        var merged = entry
        merged.headers = storedHeaders(updating(entry.headers, with: confirmation.headers))
        merged.requested = requested
        merged.received = received
        return merged
    }

    /// The entry of a GET after a HEAD; `nil` when what is there now is something else (RFC 9111, section 4.3.5).
    static func merging(_ entry: CacheEntry, withHead head: RawResponse, requested: Date, received: Date) -> CacheEntry?
    {
        if let length = head.headers["Content-Length"], let own = entry.headers["Content-Length"], length != own {
            return nil
        }
        for name in ["ETag", "Last-Modified"] {
            guard let value = head.headers[name] else { continue }
            if value != entry.headers[name] { return nil }
        }
        return merging(entry, with: head, requested: requested, received: received)
    }

    /// Weak comparison (RFC 9110, section 8.8.3.2).
    private static func isSameEntity(_ one: String, _ other: String) -> Bool {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        return opaque(one) == opaque(other)
    }

    /// Puts the fields of a confirmation over stored ones, but for those about a body that it does not have
    /// (RFC 9111, section 3.2).
    private static func updating(_ headers: HTTPHeaders, with new: HTTPHeaders) -> HTTPHeaders {
        let kept = ["Content-Length", "Content-Encoding", "Content-Range", "Content-Type"]
        var merged = headers
        // The age was that of the entry before it was confirmed.
        merged["Age"] = nil
        merged.merge(HTTPHeaders(new.filter { field in !kept.contains { $0.isSameFieldName(as: field.name) } }))
        return merged
    }
}
