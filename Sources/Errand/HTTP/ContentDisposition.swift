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
    /// `filename*` takes precedence over `filename` (RFC 6266, section 4.3). Text that doesn't follow the grammar ends the
    /// parameters.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumSize else { return nil }
        var cursor = FieldCursor(text)
        cursor.skipSpace()
        let type = cursor.token()
        guard !type.isEmpty else { return nil }
        self.type = type.lowercased()
        var (plain, extended) = (String?.none, String?.none)
        cursor.skipSpace()
        while cursor.next == UInt8(ascii: ";") {
            // Some servers send more than one, or one at the end.
            cursor.skip { $0 == UInt8(ascii: ";") || $0.isFieldSpace }
            let name = cursor.token().lowercased()
            cursor.skipSpace()
            guard !name.isEmpty, cursor.take(UInt8(ascii: "=")) else { break }
            // Browsers accept more than a token without quotation marks, and some servers send a Windows path without escaping
            // it.
            let value = cursor.value(upTo: ";", keepsPaths: true)
            if cursor.hasOpenQuote { break }
            cursor.skipSpace()
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
        // What cannot be read is not used, as if the parameter were absent.
        return try? Charset.text(of: Data(bytes), in: parts[0].lowercased())
    }
}
