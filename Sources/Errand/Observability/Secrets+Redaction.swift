public import Foundation

/// What logs, curl commands, plans and errors show in place of secret values.
extension Secrets {
    /// Returns the value of a header field, masked if it is secret.
    ///
    /// In one that contains a URL, such as that of `Referer` or `Location`, user information is omitted, and the secret values of
    /// its query and fragment are masked.
    public func redacted(_ value: String, of header: String) -> String {
        isSecret(header: header) ? Self.mask : redactingURLs(in: value)
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
    ///
    /// In a value that is or contains a URL, such as `redirect_uri`, user information is omitted, and the secret values of its
    /// query and fragment are masked, whether it is percent-encoded or not; in one that is JSON, the secret members. What is
    /// percent-encoded more than four times is masked as a whole.
    public func redacted(pairs: String) -> String {
        PairRedaction(names: pairNames.value, members: memberNames.value).redacted(pairs[...])
    }

    /// Returns a JSON value with its secret members masked, and the secrets of URLs in its strings.
    ///
    /// Recursion is bounded by the depth that the parser allows.
    public func redacted(_ value: JSONValue) -> JSONValue { memberNames.value.masking(value, redactingURLs) }

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

    /// Returns a text with the secrets of a URL masked, if it contains one or is a relative one with a query or a fragment.
    private func redactingURLs(in text: String) -> String {
        let isRelative = text.utf8.first == UInt8(ascii: "/") && text.utf8.contains { "?#".utf8.contains($0) }
        guard isRelative || text.contains("//") else { return text }
        return redacted(pairs: text)
    }
}

/// Masks the secrets in pairs and in URLs that are their values.
///
/// Each level of percent-encoding is read once, and there are few of them, so the time is linear.
private struct PairRedaction {
    let names: SecretNames
    /// The names in a value that is JSON.
    let members: SecretNames
    /// The number of levels of percent-encoding that are still decoded.
    var depth = 4

    /// Returns pairs, or a text that may contain a URL, with the secrets masked.
    func redacted(_ pairs: Substring) -> String {
        pairs.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { redacted(pair: Substring($0)) }.joined(separator: "&")
    }

    private func redacted(pair: Substring) -> String {
        var (rest, text) = (Self.omittingUserInformation(in: pair), "")
        if let masked = masked(rest) { return masked }
        while true {
            // The path, the query or the fragment of a URL.
            let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? rest.endIndex
            for parameter in rest[..<end].utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
                // The value of a secret may contain anything.
                guard let masked = masked(Substring(parameter)) else { continue }
                return text + redacted(part: rest[..<parameter.startIndex]) + masked
            }
            text += redacted(part: rest[..<end])
            guard end < rest.endIndex else { return text }
            let next = rest.utf8.index(after: end)
            text += rest[end..<next]
            rest = rest[next...]
        }
    }

    /// Returns the name and the mask of a pair whose name is secret, or `nil` for any other.
    private func masked(_ pair: Substring) -> String? {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        var name = String(pair[..<equals])
        var levels = depth
        // It may be encoded more often than the text that it is in.
        while !names.containsMember(name), let decoded = PercentEncoding.unescaping(name) {
            guard levels > 0 else { return "\(Secrets.mask)=\(Secrets.mask)" }
            (name, levels) = (decoded, levels - 1)
        }
        guard names.containsMember(name) else { return nil }
        return "\(redacted(escaped: pair[..<equals]))=\(Secrets.mask)"
    }

    private func redacted(part: Substring) -> String {
        // In front of a slash, it is no name.
        guard let equals = part.utf8.firstIndex(where: { "=/".utf8.contains($0) }),
            part.utf8[equals] == UInt8(ascii: "=")
        else { return redacted(escaped: part) }
        let value = part[part.utf8.index(after: equals)...]
        // Which may be a pair itself.
        return redacted(escaped: part[..<equals]) + "=" + (masked(value) ?? redacted(escaped: value))
    }

    /// The same for what is inside of a text.
    private var inner: PairRedaction { PairRedaction(names: names, members: members, depth: depth - 1) }

    /// Returns a text with the secrets masked that are percent-encoded in it; one without secrets is unchanged.
    private func redacted(escaped text: Substring) -> String {
        guard let decoded = PercentEncoding.unescaping(text) else { return redacted(json: text) ?? String(text) }
        guard depth > 0 else { return Secrets.mask }
        let shown =
            inner.redacted(json: decoded[...])
            ?? inner.redacted(Self.omittingUserInformation(in: decoded[...]))
        guard shown != decoded else { return String(text) }
        return shown.components(separatedBy: Secrets.mask).map(PercentEncoding.escapingComponent)
            .joined(separator: Secrets.mask)
    }

    /// Returns a text that is a JSON object or array with its secret members masked, or `nil` for any other.
    private func redacted(json text: Substring) -> String? {
        guard let first = text.utf8.first(where: { $0 > 0x20 }), "{[".utf8.contains(first) else { return nil }
        guard depth > 0 else { return Secrets.mask }
        guard let value = try? JSONValue(parsing: Data(text.utf8)) else { return nil }
        let shown = members.masking(value) { $0.contains("//") ? inner.redacted($0[...]) : $0 }
        return shown == value ? String(text) : shown.description
    }

    /// Returns a text in which no URL has user information.
    private static func omittingUserInformation(in text: Substring) -> Substring {
        let bytes = text.utf8
        guard bytes.contains(UInt8(ascii: "@")) else { return text }
        // Browsers read a backslash as a slash, and any number of them in front of a host.
        func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
        var (shown, kept, index) = ("", text.startIndex, text.startIndex)
        while let slash = bytes[index...].firstIndex(where: isSlash) {
            index = bytes.index(after: slash)
            guard index < bytes.endIndex, isSlash(bytes[index]) else { continue }
            let start = bytes[index...].firstIndex { !isSlash($0) } ?? bytes.endIndex
            let end = bytes[start...].firstIndex { "/\\?#\"<> ".utf8.contains($0) } ?? bytes.endIndex
            index = end
            guard let mark = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { continue }
            shown += text[kept..<start]
            kept = bytes.index(after: mark)
        }
        return kept == text.startIndex ? text : Substring(shown + text[kept...])
    }
}
