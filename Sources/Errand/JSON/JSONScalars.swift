import Foundation

/// A type that is decoded from one JSON value, and encoded as one, without a decoder and an encoder.
protocol JSONScalar: JSONPlanned, JSONWritable {
    /// Returns the value, or `nil` if it has the right type and does not fit.
    ///
    /// - Throws: `typeMismatch` if it has another type.
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Self?
}

/// A type that is decoded from a number, as a `Date` can be.
protocol JSONNumeric {}

extension JSONValue {
    /// Returns a value, or throws the error for a value of another type.
    func required<T>(_ expected: JSONType, _ found: T?) throws(JSONError) -> T {
        guard let found else { throw JSONError(.typeMismatch(expected: expected.phrase, found: type.phrase)) }
        return found
    }
}

extension Bool: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Bool? {
        try value.required(.bool, value.bool)
    }
}

extension String: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> String? {
        try value.required(.string, value.string)
    }
}

extension FixedWidthInteger {
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
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Double? {
        try value.required(.number, value.number).double
    }
}

extension Float: JSONScalar, JSONNumeric {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Float? {
        // Parses the text, because converting through Double would round twice.
        Float(try value.required(.number, value.number).text).flatMap { $0.isFinite ? $0 : nil }
    }
}

extension Decimal: JSONScalar, JSONNumeric {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Decimal? {
        try value.required(.number, value.number).decimal
    }
}

extension Date: JSONScalar, JSONNumeric {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Date? {
        try dates.date(from: value)
    }
}

extension Data: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> Data? {
        Data(base64Encoded: try value.required(.string, value.string))
    }
}

extension URL: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> URL? {
        URL(reference: try value.required(.string, value.string))
    }
}

extension JSONValue: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONValue? { value }
}

extension JSONNumber: JSONScalar, JSONNumeric {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONNumber? {
        try value.required(.number, value.number)
    }
}

extension JSONObject: JSONScalar {
    static func make(from value: JSONValue, dates: JSONDateStrategy) throws(JSONError) -> JSONObject? {
        try value.required(.object, value.object)
    }
}
