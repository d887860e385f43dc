import Foundation

/// A type that is encoded as one JSON value without an encoder.
protocol JSONScalarEncodable {
    /// Returns the value, or `nil` if JSON cannot represent it.
    func jsonValue(dates: JSONDateStrategy) -> JSONValue?
}

/// A type that is decoded from one JSON value without a decoder.
protocol JSONScalarDecodable {
    /// Returns the value, or `nil` if it has the right type and does not fit.
    ///
    /// - Throws: `typeMismatch` if it has another type.
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Self?
}

/// A type that is decoded from a number, as a `Date` can be.
protocol JSONNumeric {}

typealias JSONScalar = JSONScalarEncodable & JSONScalarDecodable

extension JSONValue {
    /// Returns a value, or throws the error for a value of another type.
    func required<T>(_ expected: JSONType, _ found: T?) throws(JSONError) -> T {
        guard let found else { throw JSONError(.typeMismatch(expected: expected.phrase, found: type.phrase)) }
        return found
    }
}

extension Bool: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .bool(self) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Bool? {
        try value.required(.bool, value.bool)
    }
}

extension String: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .string(self) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> String? {
        try value.required(.string, value.string)
    }
}

extension FixedWidthInteger {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .number(JSONNumber(self)) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Self? {
        try value.required(.number, value.number).integer()
    }
}

extension Int: JSONScalar, JSONNumeric {}
extension Int8: JSONScalar, JSONNumeric {}
extension Int16: JSONScalar, JSONNumeric {}
extension Int32: JSONScalar, JSONNumeric {}
extension Int64: JSONScalar, JSONNumeric {}
extension Int128: JSONScalar, JSONNumeric {}
extension UInt: JSONScalar, JSONNumeric {}
extension UInt8: JSONScalar, JSONNumeric {}
extension UInt16: JSONScalar, JSONNumeric {}
extension UInt32: JSONScalar, JSONNumeric {}
extension UInt64: JSONScalar, JSONNumeric {}
extension UInt128: JSONScalar, JSONNumeric {}

extension Double: JSONScalar, JSONNumeric {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { JSONNumber(self).map(JSONValue.number) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Double? {
        try value.required(.number, value.number).double
    }
}

extension Float: JSONScalar, JSONNumeric {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { JSONNumber(self).map(JSONValue.number) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Float? {
        // Parses the text, because converting through Double would round twice.
        Float(try value.required(.number, value.number).text).flatMap { $0.isFinite ? $0 : nil }
    }
}

extension Decimal: JSONScalar, JSONNumeric {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { JSONNumber(self).map(JSONValue.number) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Decimal? {
        try value.required(.number, value.number).decimal
    }
}

extension Date: JSONScalar, JSONNumeric {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { dates.value(for: self) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Date? {
        try dates.date(from: value)
    }
}

extension Data: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .string(base64EncodedString()) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Data? {
        Data(base64Encoded: try value.required(.string, value.string))
    }
}

extension URL: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .string(absoluteString) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> URL? {
        URL(reference: try value.required(.string, value.string))
    }
}

extension JSONValue: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { self }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONValue? { value }
}

extension JSONNumber: JSONScalar, JSONNumeric {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .number(self) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONNumber? {
        try value.required(.number, value.number)
    }
}

extension JSONObject: JSONScalar {
    func jsonValue(dates: JSONDateStrategy) -> JSONValue? { .object(self) }

    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONObject? {
        try value.required(.object, value.object)
    }
}
