import Foundation

/// The format of a `Date` in JSON.
@nonexhaustive
public enum JSONDateStrategy: Sendable, Hashable {
    /// `2024-05-01T12:00:00Z`, RFC 3339 in UTC; a fraction of a second is omitted when encoding, and decoded if there
    /// is one. An offset such as `+00:00` or `+0000` is decoded too.
    case iso8601
    /// `2024-05-01T12:00:00.250Z`, RFC 3339 in UTC with milliseconds.
    case iso8601WithMilliseconds
    /// Seconds since 1 January 1970, UTC, as a number.
    case secondsSince1970
    /// Milliseconds since 1 January 1970, UTC, as a number.
    case millisecondsSince1970

    /// Returns the date in JSON, or `nil` if it is not finite or, for RFC 3339, outside the years 0 to 9999.
    func value(for date: Date) -> JSONValue? {
        switch self {
        case .iso8601: JSONTimestamp.text(for: date, milliseconds: false).map(JSONValue.string)
        case .iso8601WithMilliseconds: JSONTimestamp.text(for: date, milliseconds: true).map(JSONValue.string)
        case .secondsSince1970: JSONNumber(date.timeIntervalSince1970).map(JSONValue.number)
        case .millisecondsSince1970: JSONNumber(date.timeIntervalSince1970 * 1000).map(JSONValue.number)
        }
    }

    /// Returns the date that a value represents, or `nil` if there is none.
    ///
    /// - Throws: `typeMismatch` if it has another type.
    func date(from value: JSONValue) throws(JSONError) -> Date? {
        switch self {
        case .iso8601, .iso8601WithMilliseconds: JSONTimestamp.date(from: try value.required(.string, value.string))
        case .secondsSince1970:
            (try value.required(.number, value.number)).double.map(Date.init(timeIntervalSince1970:))
        case .millisecondsSince1970:
            (try value.required(.number, value.number)).double.map { Date(timeIntervalSince1970: $0 / 1000) }
        }
    }
}

/// The mapping of an object's member names to properties.
@nonexhaustive
public enum JSONKeyStrategy: Sendable {
    /// Names are not changed.
    case asWritten
    /// `first_name` is mapped to `firstName`, by the rules of `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase`.
    case snakeCase
    /// The closure returns the property's name for the member's name.
    case converted(@Sendable (String) -> String)

    /// Whether names are not changed.
    var isTrivial: Bool { if case .asWritten = self { true } else { false } }

    /// Returns the property's name for a member's name.
    func converting(_ name: String) -> String {
        switch self {
        case .asWritten: name
        case .snakeCase: Self.camelCase(name)
        case .converted(let convert): convert(name)
        }
    }

    /// Converts a name to camel case, keeping underscores at either end; a name with none inside is not changed.
    static func camelCase(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
            return name
        }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }
}
