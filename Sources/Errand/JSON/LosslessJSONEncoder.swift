public import Foundation

/// An encoder for JSON bodies, the counterpart of a ``LosslessJSONDecoder``.
///
/// Members keep the order in which they are encoded, which for a synthesized conformance is that of the stored properties. The
/// members of a dictionary are sorted by name, and the elements of a set by their text, so equal values have equal text. Every
/// digit of a `Decimal`, a ``JSONNumber`` and a ``JSONValue`` is kept.
public struct LosslessJSONEncoder: Sendable {
    /// The format of dates; ISO 8601 by default.
    public var dates: JSONDateStrategy = .iso8601

    /// The format of `Data`; Base64 by default.
    public var data: JSONDataStrategy = .base64

    /// What infinite numbers and NaN are written as; `nil` makes them an `EncodingError`.
    public var floats: JSONFloatNames?

    /// How properties are mapped to the names of members; a `[String: T]` keeps its names.
    public var keys: JSONKeyStrategy = .asWritten

    /// Whether the members of all objects are sorted by name; `false` by default.
    public var sortsKeys = false

    /// The user info that is passed to the value's `encode(to:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates an encoder.
    public init() {}

    /// Encodes a value; one that encodes nothing becomes an empty object.
    ///
    /// - Parameter value: The value.
    /// - Returns: JSON, as UTF-8.
    /// - Throws: `EncodingError` for what JSON cannot represent, or an error of the value's own `encode(to:)`.
    public func encode(_ value: some Encodable) throws -> Data {
        let draft = JSONDraft(self, Extras())
        _ = try draft.write(value, .none)
        return Data(draft.text.bytes)
    }

    /// What the parameters of a request need beyond JSON.
    struct Extras {
        /// Whether `nil` is omitted at every depth with its name or key, instead of encoded as `null`.
        var omitsNil = false
        /// Renames the keys of the outermost object, or drops them with their values if it returns `nil`.
        var keyFilter: ((any CodingKey) -> String?)?
    }

    /// Encodes a value of at most 512 levels as a tree, or returns `nil` if it is omitted.
    func value(of value: some Encodable, _ extras: Extras = Extras()) throws -> JSONValue? {
        let draft = JSONDraft(self, extras)
        guard try draft.write(value, .none) else { return nil }
        do throws(JSONError) {
            return try JSONValue(parsing: draft.text.bytes, maximumDepth: JSONDepth.maximum)
        } catch {
            throw draft.invalid(value, .none, error.description)  // It is nested too deep.
        }
    }
}

extension JSONValue {
    /// Creates a value by encoding an `Encodable` value, as a ``LosslessJSONEncoder`` does.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - dates: The format of dates.
    /// - Throws: `EncodingError` for what JSON cannot represent, such as NaN, and for more than 512 levels of nesting; or an error of
    ///   the value's `encode(to:)`.
    public init(encoding value: some Encodable, dates: JSONDateStrategy = .iso8601) throws {
        var encoder = LosslessJSONEncoder()
        encoder.dates = dates
        self = try encoder.value(of: value) ?? .null
    }
}
