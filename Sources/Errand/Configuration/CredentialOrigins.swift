internal import Foundation

/// The origins (RFC 6454) that credentials of a config and a service are sent to.
struct CredentialOrigins: Sendable, Equatable {
    /// Each in the spelling of ``URLParts/originKey``.
    let keys: [String]

    init(keys: [String]) { self.keys = keys }

    /// Takes the origins of base URL and CDN and those listed; `requestOrigin` if there is neither base URL nor list.
    ///
    /// - Parameters:
    ///   - base: The base URL that holds for the request; `nil` is none.
    ///   - cdn: The URL of the CDN that holds for the request; `nil` is none.
    ///   - listed: Further origins, of service and config.
    ///   - requestOrigin: The origin of the request's own URL.
    /// - Throws: ``NetworkError`` if one of them is not a URL.
    init(base: BaseURL?, cdn: BaseURL?, listed: [BaseURL], requestOrigin: String) throws(NetworkError) {
        var keys: [String] = []
        for url in [base, cdn].compactMap(\.self) + listed {
            switch url.parts {
            case .success(let parts): keys.append(parts.originKey)
            case .failure(let boxed): throw NetworkError(boxed.reason)
            }
        }
        if base == nil, listed.isEmpty { keys.append(requestOrigin) }
        self.keys = keys
    }

    func contains(_ key: String) -> Bool { keys.contains(key) }

    /// Whether the origin of a URL is one of them; not that of a URL that cannot be sent to.
    func contains(_ url: URL) -> Bool {
        guard let parts = try? URLParts(absolute: url.absoluteString) else { return false }  // What is no URL has none.
        return contains(parts.originKey)
    }
}

/// Whether credentials of a config and a service are sent with a request, and why.
struct CredentialDecision: Sendable, Equatable {
    /// Whether they are sent.
    let areSent: Bool
    /// The policy that decided.
    let policy: CredentialPolicy
    /// The origin of the request's URL.
    let origin: String

    /// In words, without a secret.
    var description: String { areSent ? "sent to \(origin)" : "withheld from \(origin), which is another origin" }
}

extension Secrets {
    /// Whether a header field is bound to an origin.
    func isCredential(header name: String) -> Bool {
        Self.credentialFields.contains(name) || isSecret(header: name)
    }

    /// Credentials, whatever a config declares secret.
    private static let credentialFields = FieldNames(["Authorization", "Cookie", "Proxy-Authorization"])

    /// Whether a pair of a query is bound to an origin: its name is that of a secret.
    func isCredential(pair: some StringProtocol) -> Bool {
        let name = pair.prefix { $0 != "=" }
        return telling(pairs: "\(name)=") == "\(name)=\(Self.mask)"
    }
}

extension URL {
    /// This URL without these pairs of its query, each once.
    func removing(pairs: String) throws(NetworkError) -> URL {
        guard var parts = try URLParts(absolute: absoluteString), let query = parts.query else { return self }
        var removed: [Substring: Int] = [:]
        for pair in pairs.split(separator: "&") { removed[pair, default: 0] += 1 }
        let left = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            guard let count = removed[pair], count > 0 else { return true }
            removed[pair] = count - 1
            return false
        }
        parts.query = left.isEmpty ? nil : left.joined(separator: "&")
        return try parts.url()
    }

    /// This URL without pairs of its query that are credentials, except those of another URL.
    func withoutCredentials(of secrets: Secrets, except own: URL?) throws(NetworkError) -> URL {
        guard var parts = try URLParts(absolute: absoluteString), let query = parts.query else { return self }
        let kept = Set((own?.query(percentEncoded: true) ?? "").split(separator: "&"))
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false)
        let left = pairs.filter { kept.contains($0) || !secrets.isCredential(pair: $0) }
        guard left.count != pairs.count else { return self }
        parts.query = left.isEmpty ? nil : left.joined(separator: "&")
        return try parts.url()
    }
}
