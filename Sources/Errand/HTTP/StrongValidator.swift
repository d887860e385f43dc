internal import Foundation

/// A validator that two responses share only if their contents are identical byte by byte (RFC 9110, section 8.8.1).
///
/// Parts of a content may be combined under a strong validator only.
enum StrongValidator: Sendable, Hashable {
    /// An entity tag, with its quotes.
    case tag(String)
    /// The text of a `Last-Modified` field that is at least a second older than the response's `Date`.
    case date(String)

    /// Reads the validator of a response, or returns `nil` if it has no strong one.
    ///
    /// A response with a weak entity tag has no strong validator, whatever its date (RFC 9110, section 8.8.2.2).
    init?(_ headers: HTTPHeaders) {
        let tags = headers.values(for: "ETag")
        if !tags.isEmpty {
            guard tags.count == 1, Self.isStrongTag(tags[0]) else { return nil }
            self = .tag(tags[0])
            return
        }
        let (modified, dates) = (headers.values(for: "Last-Modified"), headers.values(for: "Date"))
        let now = Date(timeIntervalSince1970: 0)
        guard modified.count == 1, dates.count == 1, let one = HTTPDate.date(from: modified[0], now: now),
            let other = HTTPDate.date(from: dates[0], now: now), one.addingTimeInterval(1) <= other
        else { return nil }
        self = .date(modified[0])
    }

    /// Reads the value of an `If-Range` field, or returns `nil` if it is neither a strong entity tag nor a date.
    init?(fieldValue text: String) {
        if Self.isStrongTag(text) {
            self = .tag(text)
        } else if HTTPDate.date(from: text, now: Date(timeIntervalSince1970: 0)) != nil {
            self = .date(text)
        } else {
            return nil
        }
    }

    /// The value of an `If-Range` field that requests the rest of the same content (RFC 9110, section 13.1.5).
    var fieldValue: String {
        switch self {
        case .tag(let text), .date(let text): text
        }
    }

    /// Whether an `If-Range` field names this validator, by strong comparison, or by the exact date (RFC 9110, section
    /// 13.1.5).
    func matches(ifRange text: String) -> Bool { text.utf8.elementsEqual(fieldValue.utf8) }

    /// Whether both are the same bytes; texts that only look alike are other validators.
    static func == (one: StrongValidator, other: StrongValidator) -> Bool {
        switch (one, other) {
        case (.tag(let one), .tag(let other)), (.date(let one), .date(let other)): one.utf8.elementsEqual(other.utf8)
        default: false
        }
    }

    /// Whether a text is an entity tag that is not weak (RFC 9110, section 8.8.3).
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || $0 >= 0x23 && $0 != 0x7F }
    }
}
