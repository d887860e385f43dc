/// A media type with its character set (RFC 9110, section 8.3.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// Type and subtype in lower case, such as `application/json`.
    public let essence: String
    /// The `charset` parameter in lower case, or `nil` when there is none.
    public let charset: String?

    /// Reads the value of a `Content-Type` field; `nil` when it has no type and subtype.
    public init?(_ fieldValue: String) {
        let parts = fieldValue.split(separator: ";", omittingEmptySubsequences: false)
        let essence = parts[0].trimmingHTTPSpace().lowercased()
        let names = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isTokenCharacter) }) else {
            return nil
        }
        self.essence = essence
        charset = parts.dropFirst().lazy
            .map { $0.split(separator: "=", maxSplits: 1) }
            .first { $0.count == 2 && $0[0].trimmingHTTPSpace().lowercased() == "charset" }
            .map { $0[1].trimmingHTTPSpace().filter { $0 != "\"" }.lowercased() }
    }

    /// Whether a body of this type is JSON: `application/json`, `text/json` or any `+json`.
    public var isJSON: Bool {
        essence == "application/json" || essence.hasSuffix("+json") || essence == "text/json"
    }

    /// The type as it would stand in a `Content-Type` field.
    public var description: String { charset.map { "\(essence); charset=\($0)" } ?? essence }
}

extension StringProtocol {
    /// Without the spaces and tabs around it (RFC 9110, section 5.6.3).
    func trimmingHTTPSpace() -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
