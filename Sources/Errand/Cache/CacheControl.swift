internal import Foundation

/// The calculations of RFC 9111 for a private cache, as pure functions; ``CacheDecision`` uses them.
enum CacheControl {
    // MARK: Age and freshness

    /// The age of a stored response since it left the origin server; `nil` if a clock was set back (RFC 9111, section
    /// 4.2.3).
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

    /// Returns how long a stored response is fresh (RFC 9111, sections 4.2.1 and 4.2.2).
    ///
    /// - Parameters:
    ///   - entry: The stored response.
    ///   - rules: Its directives.
    ///   - heuristicLimit: The maximum lifetime of a response that states none.
    /// - Returns: The lifetime, which is zero if none is known.
    static func freshnessLifetime(
        of entry: CacheEntry,
        _ rules: CacheDirectives,
        heuristicLimit: Duration = ResponseCache.standardHeuristicLifetime
    ) -> Duration {
        if let maxAge = rules.maxAge { return maxAge }
        let now = entry.received
        let date = single("Date", entry.headers).flatMap { HTTPDate.date(from: $0, now: now) } ?? now
        if entry.headers.contains("Expires") {
            // An invalid date, such as 0, is in the past.
            guard let expires = single("Expires", entry.headers).flatMap({ HTTPDate.date(from: $0, now: now) }) else {
                return .zero
            }
            return max(.zero, expires.timeSince1970 - date.timeSince1970)
        }
        guard heuristicStatuses.contains(entry.statusCode) || rules.isPublic,
            let modified = single("Last-Modified", entry.headers).flatMap({ HTTPDate.date(from: $0, now: now) })
        else { return .zero }
        return max(.zero, min(heuristicLimit, (date.timeSince1970 - modified.timeSince1970) / 10))
    }

    /// RFC 9110, section 15.1.
    private static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    private static func single(_ name: String, _ headers: HTTPHeaders) -> String? {
        let values = headers.values(for: name)
        return values.count == 1 ? values[0] : nil
    }

    // MARK: Storing

    /// Whether a response may be stored (RFC 9111, section 3); `false` also if it could not be used again.
    static func mayStore(_ response: RawResponse, request: HTTPHeaders) -> Bool {
        let rules = CacheDirectives(response.headers)
        guard !CacheDirectives(request).noStore, isStorable(response, request: request), response.redirects.isEmpty
        else { return false }
        guard !forbidsStoring(rules, statusCode: response.statusCode) else { return false }
        if rules.mustUnderstand { return true }
        return rules.isPublic || rules.isPrivate || rules.maxAge != nil || response.headers.contains("Expires")
            || heuristicStatuses.contains(response.statusCode)
    }

    /// Whether the directives of a response forbid to write it: `no-store`, unless `must-understand` replaces it for a status
    /// that is understood (RFC 9111, section 5.2.2.3).
    static func forbidsStoring(_ rules: CacheDirectives, statusCode: Int) -> Bool {
        rules.mustUnderstand ? !understoodStatuses.contains(statusCode) : rules.noStore
    }

    static func forbidsStoring(_ entry: CacheEntry) -> Bool {
        forbidsStoring(CacheDirectives(entry.headers), statusCode: entry.statusCode)
    }

    /// Whether any policy may store a response: none to a condition, none with `Vary: *`, and a part only if the request
    /// has a range, and the response has the status 206 and is what it states (RFC 9111, section 3.3).
    static func isStorable(_ response: RawResponse, request: HTTPHeaders) -> Bool {
        switch response.statusCode {
        case ..<200, 304, 412, 416: return false
        case 206:
            // After a redirect, the parts could belong to another resource.
            guard request.contains("Range"), response.redirects.isEmpty,
                PartialContent(statusCode: 206, headers: response.headers, body: response.body) != nil
            else { return false }
        default: if response.headers.statesPart { return false }
        }
        return !varyNames(response.headers).contains("*")
    }

    /// Whether a response to POST may be used for a later GET: if it states how long it is fresh, and that it is the
    /// representation of its own URL (RFC 9110, section 9.3.3), and doesn't begin a session.
    static func mayStoreForGet(_ response: RawResponse, url: URL) -> Bool {
        let rules = CacheDirectives(response.headers)
        guard response.statusCode == 200, rules.maxAge != nil || response.headers.contains("Expires"),
            !response.headers.contains("Set-Cookie"), let location = single("Content-Location", response.headers)
        else { return false }
        return URLParts.leads(location, to: url)
    }

    private static let understoodStatuses: Set<Int> = heuristicStatuses.union([
        302, 307, 400, 401, 403, 500, 502, 503, 504,
    ])

    /// The header fields that are stored: none of one connection, no cookie, and none that `no-cache` names (RFC 9111,
    /// section 3.1).
    static func storedHeaders(_ headers: HTTPHeaders) -> HTTPHeaders {
        let named = CacheDirectives.names(headers["Connection"] ?? "") + CacheDirectives(headers).noCacheFields
        let left = FieldNames(unstored + named)
        return HTTPHeaders(headers.filter { !left.contains($0.name) })
    }

    private static let unstored = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Set-Cookie", "Set-Cookie2",
    ]

    // MARK: Validation

    /// The header fields that validate a stored response; empty if it has no validator (RFC 9111, section 4.3.1).
    static func conditions(for entry: CacheEntry) -> HTTPHeaders {
        var fields = HTTPHeaders()
        for (name, condition) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
            // A server could not be sent one that is no field value, and need not accept a long one.
            guard let validator = entry.headers[name], validator.utf8.count <= maximumValidatorSize,
                (try? HTTPHeaders.Field(name: condition, value: validator).validate()) != nil
            else { continue }
            fields[condition] = validator
        }
        return fields
    }

    private static let maximumValidatorSize = 2 << 10

    /// A stored response after the server has validated it; `nil` if it validated another one (RFC 9111, section 4.3.4).
    static func merging(
        _ entry: CacheEntry,
        with validation: RawResponse,
        requested: Date,
        received: Date
    ) -> CacheEntry? {
        let tag = validation.headers["ETag"]
        if let tag {
            guard let own = entry.headers["ETag"], isSameEntity(own, tag) else { return nil }
        } else if let date = validation.headers["Last-Modified"], let own = entry.headers["Last-Modified"] {
            guard isSameDate(own, date, at: received) else { return nil }
        }
        var merged = entry
        merged.headers = storedHeaders(updating(entry.headers, with: validation.headers))
        // The stored bytes keep their validator: a weak tag matches a strong one, but shows no identical bytes.
        if tag != nil { merged.headers["ETag"] = entry.headers["ETag"] }
        // Nor does a later date show that the content was not changed again in the second of its first one.
        merged.isWeak = entry.isWeak || StrongValidator(entry.headers) == nil
        merged.requested = requested
        merged.received = received
        return merged
    }

    /// The stored response to a GET, freshened by a HEAD; `nil` if the server has another one now (RFC 9111, section
    /// 4.3.5).
    static func merging(_ entry: CacheEntry, withHead head: RawResponse, requested: Date, received: Date) -> CacheEntry?
    {
        // What a GET returns now has the status of the HEAD, so a stored 404 is of another one.
        guard [200, 206].contains(entry.statusCode) else { return nil }
        if let length = head.headers["Content-Length"], let own = entry.headers["Content-Length"], length != own {
            return nil
        }
        for name in ["ETag", "Last-Modified"] {
            guard let value = head.headers[name] else { continue }
            if value != entry.headers[name] { return nil }
        }
        return merging(entry, with: head, requested: requested, received: received)
    }

    /// Weak comparison, by bytes (RFC 9110, section 8.8.3.2).
    private static func isSameEntity(_ one: String, _ other: String) -> Bool {
        func opaque(_ tag: String) -> Substring.UTF8View {
            tag.utf8.starts(with: "W/".utf8) ? tag.utf8.dropFirst(2) : tag.utf8[...]
        }
        return opaque(one).elementsEqual(opaque(other))
    }

    private static func isSameDate(_ one: String, _ other: String, at now: Date) -> Bool {
        if one == other { return true }
        guard let one = HTTPDate.date(from: one, now: now) else { return false }
        return one == HTTPDate.date(from: other, now: now)
    }

    /// Replaces stored fields with the fields of a validation, except fields about a content that it does not have (RFC 9111,
    /// section 3.2).
    static func updating(_ headers: HTTPHeaders, with new: HTTPHeaders) -> HTTPHeaders {
        var merged = headers
        // These were of the stored response before it was validated. Without a new date, the time of receipt counts (RFC 9110,
        // section 6.6.1).
        merged["Age"] = nil
        merged["Date"] = nil
        merged.merge(HTTPHeaders(new.filter { !describesContent($0.name) }))
        return merged
    }

    /// Whether a field is about the content that a response has, so that a validation doesn't change it.
    static func describesContent(_ name: String) -> Bool {
        ["Content-Length", "Content-Encoding", "Content-Range", "Content-Type"]
            .contains { $0.isSameFieldName(as: name) }
    }
}
