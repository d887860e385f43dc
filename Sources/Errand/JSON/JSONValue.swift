public import Foundation

/// Any JSON value, without loss: numbers keep their text, and objects their order.
///
/// ```swift
/// let value: JSONValue = ["id": 7, "tags": ["a", "b"], "note": nil]
/// value["id"]?.int             // 7
/// value["tags"]?[0]?.string    // "a"
/// value["note"]                // .null
/// value["missing"]             // nil
/// ```
public enum JSONValue: Hashable, Sendable {
    /// The literal `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number of any size and precision.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue {
    /// The member with a name, or `nil` if there is none or this is not an object; a JSON null is ``null``.
    ///
    /// - Parameter name: The member's name; if it repeats, the first one is used.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The element at an index, or `nil` if there is none or this is not an array.
    ///
    /// - Parameter index: The index, starting at 0.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is a JSON null.
    public var isNull: Bool { self == .null }

    /// The Boolean, or `nil` if this is not one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number, or `nil` if this is not one.
    public var number: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an exact `Int`, or `nil` if this is not a number or does not fit.
    public var int: Int? { number?.int }

    /// The nearest `Double`, or `nil` if this is not a number or exceeds the largest finite `Double`.
    public var double: Double? { number?.double }

    /// The number as an exact `Decimal`, or `nil` if this is not a number or does not fit.
    public var decimal: Decimal? { number?.decimal }

    /// The string, or `nil` if this is not one; numbers are not converted.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, or `nil` if this is not an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, or `nil` if this is not an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The type of the value, for error messages.
    var type: JSONType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral {
    /// Creates a JSON null.
    ///
    /// - Parameter nilLiteral: An empty tuple.
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// Creates a Boolean.
    ///
    /// - Parameter value: The Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// Creates a number.
    ///
    /// - Parameter value: The integer.
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// Creates a number, or a null if the literal is too large for a `Double`.
    ///
    /// - Parameter value: The number.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Creates a string.
    ///
    /// - Parameter value: The string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// Creates an array.
    ///
    /// - Parameter elements: The elements.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object, preserving the order of the literal.
    ///
    /// - Parameter elements: The names and values.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { ($0.0, $0.1) }))
    }
}

extension JSONNumber: ExpressibleByIntegerLiteral {
    /// Creates a number.
    ///
    /// - Parameter value: The integer.
    public init(integerLiteral value: Int) { self.init(value) }
}
