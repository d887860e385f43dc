public import Foundation

/// What logs, curl commands, plans and errors show in place of secret values.
extension Secrets {
    /// Returns the value of a header field, masked if it is secret.
    ///
    /// In one that is or contains a URL, relative ones included, such as that of `Referer`, `Location` or `Refresh`, user
    /// information is omitted, and the secret values of its path, query and fragment are masked. So are those of pairs,
    /// such as `token=1`, and the secret members of one that is JSON.
    public func redacted(_ value: String, of header: String) -> String {
        isSecret(header: header) ? Self.mask : redaction.redacted(text: value)
    }

    /// Returns a URL without user information and with the secret values of its query and its path masked.
    ///
    /// Those of a path are parameters, such as that of `/cart;jsessionid=1`.
    public func redacted(_ url: URL) -> String { redacted(url, hiding: AppliedCredential()) }

    /// Returns the same with a mask in place of what a session has added.
    func redacted(_ url: URL, hiding credential: AppliedCredential) -> String {
        let text = url.absoluteString
        guard var parts = try? URLParts(absolute: text) else {
            return url.scheme.map { "\($0):\(Self.mask)" } ?? Self.mask
        }
        parts.path = credential.masking(path: parts.path, with: Self.mask)
        parts.query = parts.query.map { credential.masking(query: $0, with: Self.mask) }
        guard parts.query != nil || TextRedaction.mayHaveParameters(parts.path) else { return parts.text }
        let redaction = redaction
        let place = parts.origin + redaction.redacted(path: parts.path)
        return parts.query.map { place + "?" + redaction.redacted($0[...]) } ?? place
    }

    /// Returns a query or form with its secret values masked.
    ///
    /// In a value that is or contains a URL, such as `redirect_uri`, user information is omitted, and the secret values of its
    /// query and fragment are masked, whether it is percent-encoded or not; in one that is JSON, the secret members. What is
    /// percent-encoded more than four times is masked as a whole.
    public func redacted(pairs: String) -> String { redaction.redacted(pairs[...]) }

    /// Returns a JSON value with its secret members masked, and the secrets in its strings that are URLs, pairs or JSON.
    ///
    /// Recursion is bounded by the depth that the parser allows. JSON in more than four strings around it is masked as a whole.
    public func redacted(_ value: JSONValue) -> JSONValue {
        let redaction = redaction
        return redaction.members.masking(value, redaction.redacted(text:))
    }

    /// Returns a body as text: JSON and forms with their secrets masked, anything else as its size.
    public func redacted(_ body: Data, mediaType: MediaType?) -> String {
        redactedText(body, mediaType: mediaType) ?? "\(body.count) bytes"
    }

    /// Returns JSON or a form with its secrets masked, or `nil` for a body of another type.
    func redactedText(_ body: Data, mediaType: MediaType?) -> String? {
        if body.isEmpty { return "" }
        if mediaType?.isJSON == true, let value = try? JSONValue(parsing: body) { return redacted(value).description }
        if mediaType?.essence == "application/x-www-form-urlencoded" {
            return redacted(pairs: String(decoding: body, as: UTF8.self))
        }
        return nil
    }

    private var redaction: TextRedaction { TextRedaction(names: pairNames.value, members: memberNames.value) }
}
