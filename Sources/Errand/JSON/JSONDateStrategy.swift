import Foundation

/// How a `Date` is written in JSON.
@nonexhaustive
public enum JSONDateStrategy: Sendable, Hashable {
    /// `2024-05-01T12:00:00Z`, RFC 3339 in UTC; a fraction of a second is cut off when writing and read when there.
    case iso8601
    /// `2024-05-01T12:00:00.250Z`, the same with milliseconds.
    case iso8601WithMilliseconds
    /// Seconds since 1 January 1970, UTC, as a number.
    case secondsSince1970
    /// Milliseconds since 1 January 1970, UTC, as a number.
    case millisecondsSince1970

    /// The date in JSON, or `nil` when it is outside the years 0 to 9999 of RFC 3339, or not finite.
    func value(for date: Date) -> JSONValue? {
        switch self {
        case .iso8601: JSONTimestamp.text(for: date, milliseconds: false).map(JSONValue.string)
        case .iso8601WithMilliseconds: JSONTimestamp.text(for: date, milliseconds: true).map(JSONValue.string)
        case .secondsSince1970: JSONNumber(date.timeIntervalSince1970).map(JSONValue.number)
        case .millisecondsSince1970: JSONNumber(date.timeIntervalSince1970 * 1000).map(JSONValue.number)
        }
    }

    /// The date that `value` spells, or `nil` when it spells none.
    func date(from value: JSONValue) -> Date? {
        switch self {
        case .iso8601, .iso8601WithMilliseconds: value.string.flatMap(JSONTimestamp.date(from:))
        case .secondsSince1970: value.double.map(Date.init(timeIntervalSince1970:))
        case .millisecondsSince1970: value.double.map { Date(timeIntervalSince1970: $0 / 1000) }
        }
    }
}
