internal import Foundation

/// Masks the secrets in pairs, and in the URLs and the JSON that texts consist of or contain.
///
/// Each level of percent-encoding, or of JSON in a string, is read once, and there are few of them, so the time is linear.
struct TextRedaction {
    let names: SecretNames
    /// The names in a value that is JSON.
    let members: SecretNames
    /// The number of levels of percent-encoding and JSON that are still decoded.
    var depth = 4

    /// Returns a text that may be or contain a URL, pairs or JSON, with the secrets masked.
    func redacted(text: String) -> String {
        var bytes = text.utf8[...]
        // Behind the padding of Base64, there is no value.
        while bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
        let mayHaveSecrets = bytes.contains { byte in
            switch byte {
            case UInt8(ascii: "="), UInt8(ascii: "%"), UInt8(ascii: "@"), UInt8(ascii: "{"), UInt8(ascii: "["),
                UInt8(ascii: "\\"):
                true
            default: false
            }
        }
        guard mayHaveSecrets else { return text }
        return redacted(json: text[...]) ?? redacted(Self.omittingUserInformation(in: text[...]))
    }

    /// Returns the path of a URL with the secret values of its parameters masked, each up to the end of its segment.
    func redacted(path: String) -> String {
        guard Self.mayHaveParameters(path) else { return path }
        return path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { redacted(pair: Substring($0)) }.joined(separator: "/")
    }

    /// Whether a path contains an equals sign or, percent-encoded any number of times, may contain one.
    static func mayHaveParameters(_ path: String) -> Bool {
        if path.utf8.contains(UInt8(ascii: "=")) { return true }
        var rest = path.utf8[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[rest.index(after: mark)...]
            if rest.first == UInt8(ascii: "3") || rest.starts(with: "25".utf8) { return true }
        }
        return false
    }

    /// Returns pairs, or a text that may contain a URL, with the secrets masked.
    func redacted(_ pairs: Substring) -> String {
        pairs.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { redacted(pair: Substring($0)) }.joined(separator: "&")
    }

    private func redacted(pair: Substring) -> String {
        var (rest, text) = (Self.omittingUserInformation(in: pair), "")
        if let masked = masked(rest) ?? redacted(jsonOf: rest) { return masked }
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

    /// Returns a pair whose value is JSON with its secret members masked, or `nil` for any other.
    private func redacted(jsonOf pair: Substring) -> String? {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let start = pair.utf8.index(after: equals)
        return redacted(json: pair[start...]).map { redacted(escaped: pair[..<equals]) + "=" + $0 }
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
    private var inner: TextRedaction { TextRedaction(names: names, members: members, depth: depth - 1) }

    /// Returns a text with the secrets masked that are percent-encoded in it; one without secrets is unchanged.
    private func redacted(escaped text: Substring) -> String {
        guard let decoded = PercentEncoding.unescaping(text) else {
            return redacted(json: text) ?? redacted(list: text) ?? String(text)
        }
        guard depth > 0 else { return Secrets.mask }
        let shown = inner.redacted(text: decoded)
        guard shown != decoded else { return String(text) }
        return shown.components(separatedBy: Secrets.mask).map(PercentEncoding.escapingComponent)
            .joined(separator: Secrets.mask)
    }

    /// Returns a list of pairs, however they are separated, with a mask in place of the first secret value and the rest, or
    /// `nil` if there is none.
    private func redacted(list: Substring) -> String? {
        var start = list.startIndex
        while let equals = list.utf8[start...].firstIndex(of: UInt8(ascii: "=")) {
            let name = list[start..<equals]
            let last = name.utf8.split { " ,\t(".utf8.contains($0) }.last
            if names.containsMember(String(name)) || last.map({ names.containsMember(String(Substring($0))) }) == true {
                return "\(list[..<equals])=\(Secrets.mask)"
            }
            start = list.utf8.index(after: equals)
        }
        return nil
    }

    /// Returns JSON with its secret members masked, or `nil` for a text that is none.
    ///
    /// An object, an array or a string that cannot be parsed is masked as a whole if it names a secret.
    private func redacted(json text: Substring) -> String? {
        let scalars = text.unicodeScalars.drop { $0.value <= 0x20 || $0.properties.isWhitespace || $0.isFormat }
        guard let first = scalars.first, "{[\"".unicodeScalars.contains(first) else { return nil }
        let json = Substring(scalars)
        // A string may contain JSON.
        let beginning = first == "\"" ? scalars.dropFirst().first { !$0.properties.isWhitespace } : first
        let mayHaveMembers = beginning.map("{[\\".unicodeScalars.contains) ?? false
        guard depth > 0 else { return mayHaveMembers ? Secrets.mask : nil }
        guard let value = try? JSONValue(parsing: Data(json.utf8)) else {
            return mayHaveMembers && namesSecret(json) ? Secrets.mask : nil
        }
        let shown = members.masking(value, inner.redacted(text:))
        return shown == value ? String(text) : shown.description
    }

    /// Whether a text that resembles JSON has the name of a secret in front of a colon, an equals sign or a comment, in
    /// quotation marks, escaped, or without.
    private func namesSecret(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        var (name, isEnded, index) = ([UInt8](), false, 0)
        // Whether a part of a nested name in front of a bracket is secret.
        var isPartSecret = false
        func isSecret(_ name: [UInt8]) -> Bool {
            let text = String(decoding: name, as: UTF8.self)
            return members.containsMember(text) || names.containsMember(text)
        }
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\\"):
                // Of JSON in strings, it may be escaped more than once.
                while index < bytes.count, bytes[index] == UInt8(ascii: "\\") { index += 1 }
                let digits = bytes[index...].dropFirst().prefix(4)
                guard index < bytes.count, bytes[index] == UInt8(ascii: "u"), digits.count == 4,
                    let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
                else {
                    isEnded = true
                    continue
                }
                if isEnded { (name, isEnded, isPartSecret) = ([], false, false) }
                name += String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8
                index += 5
            case UInt8(ascii: "\""), UInt8(ascii: "'"): isEnded = true
            case UInt8(ascii: "]"):
                if !isEnded { isPartSecret = isPartSecret || isSecret(name) }
                isEnded = true
            case UInt8(ascii: ":"), UInt8(ascii: "="):
                if isPartSecret || isSecret(name) { return true }
                (name, isEnded) = ([], false)
            case UInt8(ascii: "["):
                if !isEnded { isPartSecret = isPartSecret || isSecret(name) }
                (name, isEnded) = ([], false)
            case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&"),
                UInt8(ascii: "("):
                (name, isEnded, isPartSecret) = ([], false, false)
            case ...0x20: if !isEnded { name.append(byte) }
            default:
                if isEnded {
                    let isComment = byte == UInt8(ascii: "/") && bytes[index...].first.map("/*".utf8.contains) == true
                    if isComment, isPartSecret || isSecret(name) { return true }
                    if byte != UInt8(ascii: ".") { isPartSecret = false }
                    (name, isEnded) = ([], false)
                }
                name.append(byte)
            }
        }
        return false
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

extension Unicode.Scalar {
    /// Whether it is invisible, such as a byte order mark or a space without width.
    fileprivate var isFormat: Bool { properties.generalCategory == .format }
}
