public import Foundation

/// What logs, curl commands, plans and errors show in place of secret values.
extension Secrets {
    /// Returns the value of a header field, masked if it is secret.
    public func redacted(_ value: String, of header: String) -> String {
        isSecret(header: header) ? Self.mask : value
    }

    /// Returns a URL without user information and with the secret values of its query masked.
    public func redacted(_ url: URL) -> String {
        let text = url.absoluteString
        guard let parts = try? URLParts(absolute: text) else {
            return url.scheme.map { "\($0):\(Self.mask)" } ?? Self.mask
        }
        guard let query = parts.query else { return parts.text }
        return parts.origin + parts.path + "?" + redacted(pairs: query)
    }

    /// Returns a query or form with its secret values masked.
    public func redacted(pairs: String) -> String {
        let secrets = pairNames.value
        return pairs.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair -> String in
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return String(Substring(pair)) }
            let name = String(Substring(pair[..<equals]))
            return secrets.containsMember(name.removingPercentEncoding ?? name)
                ? "\(name)=\(Self.mask)" : String(Substring(pair))
        }.joined(separator: "&")
    }

    /// Returns a JSON value with its secret members masked.
    ///
    /// Recursion is bounded by the depth that the parser allows.
    public func redacted(_ value: JSONValue) -> JSONValue { memberNames.value.masking(value) }

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
}
