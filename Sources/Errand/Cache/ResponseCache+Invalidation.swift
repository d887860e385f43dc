internal import Foundation

extension ResponseCache {
    /// Removes what an unsafe request may have changed: immediately for every lookup, without waiting for the disk (RFC
    /// 9111, section 4.4).
    ///
    /// - Parameters:
    ///   - targets: The URLs of the request, as identified and as sent.
    ///   - response: The response; one with an error status invalidates nothing.
    ///   - ignored: The parameters that the request ignores. Those that other requests of the process ignore are also
    ///     omitted, so that the URLs are those that responses are stored under.
    ///   - ticket: The send, whose own response may be stored, or `nil` if it is not stored in this cache.
    func invalidate(
        _ targets: [URL],
        by response: RawResponse,
        ignoring ignored: IgnoredParameters,
        ticket: CacheRemovals.Ticket?
    ) {
        guard (200..<400).contains(response.statusCode) else { return }
        var all = Set(targets)
        for target in targets {
            for name in ["Location", "Content-Location"] {
                guard let text = response.headers[name], let url = Self.sibling(at: text, of: target) else { continue }
                all.insert(url)
            }
        }
        let lists = observations.ignoredParameters.union([ignored, IgnoredParameters(names: [], nesting: .brackets)])
        let texts = all.flatMap { url in lists.map { CacheIdentification.text(of: url, without: $0) } }
        for text in Set(texts) { removeAll(ofURL: text, by: ticket) }
    }

    /// Returns the URL that a reference leads to, spelled as that of a request, or `nil` if it is of another origin.
    private static func sibling(at reference: String, of target: URL) -> URL? {
        guard let url = URL(string: reference, relativeTo: target)?.absoluteString,
            let named = try? URLParts(absolute: url), var parts = try? URLParts(absolute: target.absoluteString),
            named.origin == parts.origin
        else { return nil }
        (parts.path, parts.query) = (named.path.isEmpty ? "/" : named.path, named.query)
        return try? parts.url()
    }
}

extension PreparedRequest {
    /// Invalidates stored responses that this request, which is unsafe, may have changed, whatever the policy.
    ///
    /// - Parameters:
    ///   - response: The response, which may be a redirect.
    ///   - sent: The request that was sent.
    ///   - isFirst: Whether it was sent for the request itself and not for a redirect.
    func invalidate(by response: RawResponse, to sent: OutgoingRequest, isFirst: Bool) {
        // A request that caches any method declares that it changes nothing.
        guard !cacheIdentity.allowsAnyMethod else { return }
        var targets = [sent.url]
        // Cache keys have the URL before adapters; an interceptor's request to another path is unrelated.
        let isOwn = !outgoing.method.isSafe || sent.url.path() == outgoing.url.path()
        if isFirst, isOwn, sent.url != outgoing.url { targets.append(outgoing.url) }
        for cache in settings.config.value.allCaches {
            let ticket = cache === self.cacheUse?.cache ? response.cacheNote?.ticket : nil
            cache.invalidate(targets, by: response, ignoring: ignoredParameters, ticket: ticket)
        }
    }
}
