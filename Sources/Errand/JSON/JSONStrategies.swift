public import Foundation

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
    /// Seconds since 1 January 2001, UTC, as a number: what `JSONEncoder` writes and `JSONDecoder` reads by default.
    case secondsSinceReferenceDate
    /// A format of the service's own; see ``formatted(_:)`` for one that a `DateFormatter` describes.
    case custom(JSONFormat<Date>)

    /// The text of a formatter, such as one whose `dateFormat` is `yyyy-MM-dd HH:mm:ss`.
    ///
    /// - Parameter formatter: The formatter, which needs a `locale` of `en_US_POSIX` and a `timeZone`; it must not be changed
    ///   afterwards.
    /// - Returns: The strategy.
    public static func formatted(_ formatter: DateFormatter) -> JSONDateStrategy {
        .custom(
            JSONFormat { value in
                formatter.date(from: try value.required(.string, value.string))
            } encoding: { date in
                .string(formatter.string(from: date))
            }
        )
    }

    /// Returns the date in JSON, or `nil` if it is not finite or, for RFC 3339, outside the years 0 to 9999.
    ///
    /// - Throws: The error of a format.
    func value(for date: Date) throws -> JSONValue? {
        switch self {
        case .iso8601: JSONTimestamp.text(for: date, milliseconds: false).map(JSONValue.string)
        case .iso8601WithMilliseconds: JSONTimestamp.text(for: date, milliseconds: true).map(JSONValue.string)
        case .secondsSince1970: JSONNumber(date.timeIntervalSince1970).map(JSONValue.number)
        case .millisecondsSince1970: JSONNumber(date.timeIntervalSince1970 * 1000).map(JSONValue.number)
        case .secondsSinceReferenceDate: JSONNumber(date.timeIntervalSinceReferenceDate).map(JSONValue.number)
        case .custom(let format): try format.encoding(date)
        }
    }

    /// Returns the date that a value represents, or `nil` if there is none; a ``custom(_:)`` format is asked elsewhere.
    ///
    /// - Throws: `typeMismatch` if it has another type.
    func date(from value: JSONValue) throws(JSONError) -> Date? {
        switch self {
        case .iso8601, .iso8601WithMilliseconds: JSONTimestamp.date(from: try value.required(.string, value.string))
        case .secondsSince1970:
            (try value.required(.number, value.number)).double.map(Date.init(timeIntervalSince1970:))
        case .millisecondsSince1970:
            (try value.required(.number, value.number)).double.map { Date(timeIntervalSince1970: $0 / 1000) }
        case .secondsSinceReferenceDate:
            (try value.required(.number, value.number)).double.map(Date.init(timeIntervalSinceReferenceDate:))
        case .custom: nil
        }
    }
}

/// The format of `Data` in JSON.
@nonexhaustive
public enum JSONDataStrategy: Sendable, Hashable {
    /// Text in Base64.
    case base64
    /// An array of numbers from 0 to 255, as `JSONEncoder` writes and `JSONDecoder` reads with `deferredToData`.
    case bytes
    /// A format of the service's own, such as hexadecimal digits.
    case custom(JSONFormat<Data>)

    func value(for data: Data) throws -> JSONValue {
        switch self {
        case .base64: .string(data.base64EncodedString())
        case .bytes: .array(data.map { .number(JSONNumber($0)) })
        case .custom(let format): try format.encoding(data)
        }
    }
}

/// How values of a type are read from JSON and written as JSON, in place of the usual format.
///
/// Two are equal if they are the same object, so one that is compared, as in a ``ParameterEncoding``, belongs in a `let`.
public final class JSONFormat<Value: Sendable>: Sendable, Hashable {
    let decoding: @Sendable (JSONValue) throws -> Value?
    let encoding: @Sendable (Value) throws -> JSONValue

    /// Creates a format.
    ///
    /// - Parameters:
    ///   - decoding: Returns the value of a JSON value, or `nil` if that is not in the format, as is a `DecodingError`; other errors
    ///     reach the caller of the decoder unchanged.
    ///   - encoding: Returns the JSON of a value; its errors reach the caller of the encoder unchanged.
    public init(
        _ decoding: @escaping @Sendable (JSONValue) throws -> Value?,
        encoding: @escaping @Sendable (Value) throws -> JSONValue
    ) { (self.decoding, self.encoding) = (decoding, encoding) }

    /// Whether both are the same object.
    public static func == (left: JSONFormat, right: JSONFormat) -> Bool { left === right }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The texts for numbers that JSON has not: infinite ones and NaN.
public struct JSONFloatNames: Sendable, Hashable {
    /// The text for infinity.
    public var positiveInfinity: String
    /// The text for negative infinity.
    public var negativeInfinity: String
    /// The text for NaN.
    public var nan: String

    /// Creates the names, by default those that Swift prints and JavaScript partly knows.
    public init(positiveInfinity: String = "Infinity", negativeInfinity: String = "-Infinity", nan: String = "NaN") {
        (self.positiveInfinity, self.negativeInfinity, self.nan) = (positiveInfinity, negativeInfinity, nan)
    }

    /// The number of a name, or `nil`.
    func number(of name: String) -> Double? {
        name == positiveInfinity ? .infinity : name == negativeInfinity ? -.infinity : name == nan ? .nan : nil
    }
}

/// The mapping of an object's member names to properties.
@nonexhaustive
public enum JSONKeyStrategy: Sendable {
    /// Names are not changed.
    case asWritten
    /// `first_name` is mapped to `firstName`, by the rules of `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase`, and the
    /// other way by those of `JSONEncoder.KeyEncodingStrategy.convertToSnakeCase`.
    case snakeCase
    /// The closure returns the property's name for the member's name; an encoder's, the member's name for the property's.
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

    /// Returns the member's name for a property's name.
    func encoding(_ name: String) -> String {
        switch self {
        case .asWritten: name
        case .snakeCase: Self.snakeCase(name)
        case .converted(let convert): convert(name)
        }
    }

    /// Converts a name to snake case: a word begins at a capital after the first letter, and at the last one of several before a
    /// small letter.
    static func snakeCase(_ name: String) -> String {
        let letters = Array(name)
        var (starts, index): (Set<Int>, Int) = ([], 1)
        while index < letters.count, let capital = letters[index...].firstIndex(where: \.isUppercase) {
            starts.insert(capital)
            guard let small = letters[capital...].firstIndex(where: \.isLowercase) else { break }
            starts.insert(small - 1)
            index = small + 1
        }
        return letters.indices.map { (starts.contains($0) ? "_" : "") + letters[$0].lowercased() }.joined()
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
