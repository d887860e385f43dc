internal import Foundation

/// The origins (RFC 6454) that credentials of a config and a service are sent to.
struct CredentialOrigins: Sendable, Equatable {
    /// The origins, in the form of ``URLParts/origin``.
    let keys: [Origin]

    init(keys: [Origin]) { self.keys = keys }

    /// Creates the list from the origins of base URL and CDN and the listed origins, or from `requestOrigin` if there is
    /// neither a base URL nor a list.
    ///
    /// - Parameters:
    ///   - base: The base URL that applies to the request, or `nil` if there is none.
    ///   - cdn: The URLs of the CDN that apply to the request.
    ///   - listed: Further origins, of service and config.
    ///   - requestOrigin: The origin of the request's own URL.
    /// - Throws: ``NetworkError`` if one of them is not a URL.
    init(base: BaseURL?, cdn: [BaseURL], listed: [BaseURL], requestOrigin: Origin) throws(NetworkError) {
        var keys: [Origin] = []
        for url in (base.map { [$0] } ?? []) + cdn + listed {
            switch url.parts {
            case .success(let parts): keys.append(parts.origin)
            case .failure(let boxed): throw NetworkError(boxed.reason)
            }
        }
        if base == nil, listed.isEmpty { keys.append(requestOrigin) }
        self.keys = keys
    }

    func contains(_ key: Origin) -> Bool { keys.contains(key) }

    /// Returns whether the origin of a URL is one of them; a URL that cannot be sent to has none.
    func contains(_ url: URL) -> Bool {
        guard let parts = try? URLParts(absolute: url.absoluteString) else { return false }  // An invalid URL has none.
        return contains(parts.origin)
    }
}

/// Whether credentials of a config and a service are sent with a request, and why.
struct CredentialDecision: Sendable, Equatable {
    /// Whether they are sent.
    let areSent: Bool
    /// The policy that decided.
    let policy: CredentialPolicy
    /// The origin of the request's URL.
    let origin: Origin

    /// A description without a secret.
    var description: String { areSent ? "sent to \(origin)" : "withheld from \(origin), which is another origin" }
}

extension Secrets {
    /// Returns whether a header field is bound to an origin.
    @inline(never)
    func isCredential(header name: String) -> Bool {
        Self.credentialFields.contains(name) || isSecret(header: name)
    }

    /// The header fields that contain credentials, whatever names a config's secrets contain.
    private static let credentialFields = FieldNames(["Authorization", "Cookie", "Proxy-Authorization"])

    /// Returns whether a pair of a query is bound to an origin, because its name is a secret's.
    func isCredential(pair: some StringProtocol) -> Bool {
        isSecret(queryName: String(pair.prefix { $0 != "=" }))
    }
}

extension URL {
    /// Returns this URL without these pairs of its query, each removed once.
    func removing(pairs: String) throws(NetworkError) -> URL {
        guard var parts = try URLParts(absolute: absoluteString), let query = parts.query else { return self }
        var removed: [String: Int] = [:]
        for pair in pairs.split(separator: "&") { removed[String(pair), default: 0] += 1 }
        let left = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            guard let count = removed[String(pair)], count > 0 else { return true }
            removed[String(pair)] = count - 1
            return false
        }
        parts.query = left.isEmpty ? nil : left.joined(separator: "&")
        return try parts.url()
    }

    /// Returns this URL without query pairs that are credentials, except the pairs of another URL.
    func withoutCredentials(of secrets: Secrets, except own: URL?) throws(NetworkError) -> URL {
        guard var parts = try URLParts(absolute: absoluteString), let query = parts.query else { return self }
        let kept = Set((own?.query(percentEncoded: true) ?? "").split(separator: "&").map(String.init))
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false)
        let left = pairs.filter { kept.contains(String($0)) || !secrets.isCredential(pair: $0) }
        guard left.count != pairs.count else { return self }
        parts.query = left.isEmpty ? nil : left.joined(separator: "&")
        return try parts.url()
    }
}
