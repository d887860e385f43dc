internal import Foundation

extension URLParts {
    /// Returns a URL or path for messages, without query, fragment, user information and the values of
    /// parameters of the path.
    ///
    /// Also of a text that is no URL because of a mistake, such as a missing colon, or a slash in a password.
    static func redacted(_ text: String) -> String {
        // By bytes: a mark after a delimiter would make one `Character` of both.
        let bytes = text.utf8
        func isDelimiter(_ byte: UInt8) -> Bool { "/?#".utf8.contains(byte) }
        let head = bytes.prefix { !isDelimiter($0) }
        let isURL = bytes[head.endIndex...].starts(with: "//".utf8)
        let start = isURL ? bytes.index(head.endIndex, offsetBy: 2) : bytes.startIndex
        let rest = bytes[start...]
        let authority = rest.prefix { !isDelimiter($0) }
        let shown = authority.lastIndex(of: UInt8(ascii: "@")).map { bytes[bytes.index(after: $0)...] } ?? rest
        // A password cut off the host, so that its rest may be anywhere.
        let isCutOff =
            isURL && shown.startIndex == start && !hasValidPort(authority) && rest.contains(UInt8(ascii: "@"))
        if isCutOff { return Substring(bytes[..<start]) + "…" }
        let path = String(Substring(shown.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
        return Substring(bytes[..<start]) + redacting(parametersOf: path)
    }

    /// Returns a path for messages, with `…` in place of the values of its parameters: `/cart;jsessionid=…`.
    ///
    /// Like those of a query, they may be secrets, whatever their names are.
    static func redacting(parametersOf path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: ";")) else { return path }
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.map { segment in
            let parts = segment.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            return parts.enumerated().map { number, part in
                guard number > 0, let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
                    return String(Substring(part))
                }
                return Substring(part[...equals]) + "…"
            }.joined(separator: ";")
        }.joined(separator: "/")
    }
}
