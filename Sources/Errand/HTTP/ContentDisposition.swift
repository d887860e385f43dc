internal import Foundation

/// The `Content-Disposition` field of a response (RFC 6266).
struct ContentDisposition: Sendable, Hashable {
    /// The lowercase type, such as `attachment`.
    let type: String
    /// The name that the server proposes, which may contain anything; see ``FileName``.
    let fileName: String?

    /// The longest value that is read.
    private static let maximumSize = 8 << 10

    /// Reads a value, or returns `nil` if it has no type.
    ///
    /// `filename*` takes precedence over `filename` (RFC 6266, section 4.3). What doesn't follow the grammar ends the
    /// parameters.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumSize else { return nil }
        var reader = Reader(rest: text.utf8[...])
        let type = reader.token()
        guard !type.isEmpty else { return nil }
        self.type = type.lowercased()
        var (plain, extended) = (String?.none, String?.none)
        while reader.takeSeparator() {
            let name = reader.token().lowercased()
            guard !name.isEmpty, reader.take(UInt8(ascii: "=")) else { break }
            guard let value = reader.value() else { break }
            switch name {
            case "filename": plain = plain ?? value
            case "filename*": extended = extended ?? Self.decoded(value)
            default: break
            }
        }
        fileName = extended ?? plain
    }

    /// Decodes an extended value, such as `UTF-8''na%C3%AFve.txt` (RFC 8187, section 3.2).
    private static func decoded(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let isLatin = parts[0].lowercased() == "iso-8859-1"
        guard isLatin || parts[0].lowercased() == "utf-8" else { return nil }
        var bytes: [UInt8] = []
        var rest = parts[2].utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(JSONScanner.hexadecimalValue),
                let low = rest.popFirst().flatMap(JSONScanner.hexadecimalValue)
            else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: high << 4 | low))
        }
        if isLatin { return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })) }
        return String(validating: bytes, as: UTF8.self)
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func skipSpace() { rest = rest.drop { $0.isFieldSpace } }

        mutating func take(_ byte: UInt8) -> Bool {
            skipSpace()
            guard rest.first == byte else { return false }
            rest = rest.dropFirst()
            skipSpace()
            return true
        }

        /// Takes semicolons, of which some servers send more than one, or one at the end.
        mutating func takeSeparator() -> Bool {
            var isTaken = false
            while take(UInt8(ascii: ";")) { isTaken = true }
            return isTaken && !rest.isEmpty
        }

        mutating func token() -> String {
            skipSpace()
            let token = rest.prefix { $0.isTokenCharacter }
            rest = rest[token.endIndex...]
            return String(Substring(token))
        }

        /// Reads a token or a quoted string; also what browsers accept unquoted, up to a semicolon.
        mutating func value() -> String? {
            guard rest.first == UInt8(ascii: "\"") else {
                let value = rest.prefix { $0 != UInt8(ascii: ";") }
                rest = rest[value.endIndex...]
                return String(Substring(value)).trimmingSpace
            }
            rest = rest.dropFirst()
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
                // Only before what has to be escaped: some servers send a path of Windows as it is.
                case UInt8(ascii: "\\") where rest.first == UInt8(ascii: "\"") || rest.first == UInt8(ascii: "\\"):
                    rest.popFirst().map { bytes.append($0) }
                default: bytes.append(byte)
                }
            }
            return nil
        }
    }
}

extension String {
    fileprivate var trimmingSpace: String {
        String(Substring(Substring(self).utf8.trimmingHTTPSpace()))
    }
}
