public import Foundation

/// A number of any size and precision, stored as its original text.
///
/// Two numbers are equal if their exact values are: `1`, `1.0` and `10e-1` are equal, and 9007199254740993 does not
/// equal 9007199254740992. A conversion to a type that cannot represent the value returns `nil` and never rounds
/// silently; only ``double`` rounds, as binary fractions require.
public struct JSONNumber: Sendable {
    /// The number as written: digits, sign, decimal point and exponent as RFC 8259 allows them.
    public let text: String

    /// Creates a number from its text, or returns `nil` if the text is not a number.
    ///
    /// - Parameter text: A number as defined by RFC 8259, section 6.
    public init?(_ text: String) {
        let isNumber = Array(text.utf8).withUnsafeBytes { bytes in
            guard let first = bytes.first, JSONType(firstByte: first) == .number else { return false }
            guard let range = try? JSONScanner.validate(bytes) else { return false }  // The error does not matter.
            return range == 0..<bytes.count
        }
        guard isNumber else { return nil }
        self.text = text
    }

    /// Creates a number from an integer of any width.
    ///
    /// - Parameter value: The integer.
    public init(_ value: some BinaryInteger) { text = value.description }

    /// Creates a number from a binary fraction, in the shortest form that is parsed as the same `Double`.
    ///
    /// - Parameter value: The number; infinite values and NaN return `nil`, because JSON cannot represent them.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = Self.withoutEmptyFraction(value.description)
    }

    /// Creates a number from a binary fraction, in the shortest form that is parsed as the same `Float`.
    ///
    /// - Parameter value: The number; infinite values and NaN return `nil`, because JSON cannot represent them.
    public init?(_ value: Float) {
        guard value.isFinite else { return nil }
        text = Self.withoutEmptyFraction(value.description)
    }

    /// Creates a number from a decimal fraction, exactly.
    ///
    /// - Parameter value: The number; NaN returns `nil`.
    public init?(_ value: Decimal) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// Creates a number from validated text.
    init(validated text: String) { self.text = text }

    /// Swift prints 1 as `1.0`; in JSON, as in Foundation's encoder, it is `1`.
    private static func withoutEmptyFraction(_ text: String) -> String {
        text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

extension JSONNumber {
    /// The exact value as an `Int`, or `nil` if it is not one: `1.0` and `1e2` are, `1.5` and `1e400` are not.
    public var int: Int? { integer() }

    /// The exact value as an `Int64`, or `nil` if it is not one.
    public var int64: Int64? { integer() }

    /// The exact value as a `UInt64`, or `nil` if it is not one.
    public var uint64: UInt64? { integer() }

    /// The nearest `Double`, or `nil` if the number exceeds the largest finite one.
    ///
    /// Integers above 2^53 may be rounded, and numbers closer to zero than the smallest `Double` become zero.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The exact value as a `Decimal`, or `nil` if that type cannot represent it: more than 38 digits, or an exponent
    /// outside -128...127.
    public var decimal: Decimal? {
        guard let exact = JSONDecimalDigits(text) else { return nil }
        guard !exact.digits.isEmpty else { return 0 }
        var digits = exact.digits
        var exponent = exact.exponent
        if exponent > 127 {
            guard exponent - 127 < 38 else { return nil }
            digits.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: exponent - 127))
            exponent = 127
        }
        guard digits.count <= 38, exponent >= -128 else { return nil }
        return Decimal(string: (exact.isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + "e\(exponent)")
    }

    /// Returns the exact value as an integer type of any width, or `nil` if it is not an integer or does not fit.
    ///
    /// - Parameter type: The integer type.
    /// - Returns: The value.
    public func integer<I: FixedWidthInteger>(as type: I.Type = I.self) -> I? {
        guard let magnitude else { return I.bitWidth > 128 ? wideInteger() : nil }
        guard text.utf8.first == UInt8(ascii: "-") else { return I(exactly: magnitude) }
        guard magnitude <= 1 << 127 else { return I.bitWidth > 128 ? wideInteger() : nil }
        return I(exactly: Int128(truncatingIfNeeded: 0 &- magnitude))
    }

    /// The absolute value, or `nil` if it isn't an integer or is wider than 128 bits.
    private var magnitude: UInt128? {
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        // Most integers are a few plain digits.
        var short: UInt64 = 0
        if digits.count <= 19,
            digits.allSatisfy({ digit in
                short = short &* 10 &+ UInt64(digit &- 0x30)
                return digit &- 0x30 <= 9
            })
        {
            return UInt128(short)
        }
        guard let exact = JSONDecimalDigits(text), 0...39 ~= exact.exponent, exact.digits.count <= 39 else {
            return nil
        }
        var value: UInt128 = 0
        for digit in exact.digits + repeatElement(0x30, count: exact.exponent) {
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(UInt128(digit - 0x30))
            if isTooLarge || overflows { return nil }
            value = sum
        }
        return value
    }

    /// Returns the exact value as an integer of more than 128 bits, wider than any type of the standard library.
    @inline(never)
    private func wideInteger<I: FixedWidthInteger>() -> I? {
        guard let exact = JSONDecimalDigits(text), 0...I.bitWidth ~= exact.exponent else { return nil }
        let zeros = repeatElement(UInt8(ascii: "0"), count: exact.exponent)
        return I((exact.isNegative ? "-" : "") + String(decoding: exact.digits + zeros, as: UTF8.self))
    }
}

extension JSONNumber: Hashable {
    /// Compares the exact values.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        guard let leftDigits = JSONDecimalDigits(left.text) else { return false }
        return leftDigits == JSONDecimalDigits(right.text)
    }

    /// Hashes the exact value.
    public func hash(into hasher: inout Hasher) {
        if let digits = JSONDecimalDigits(text) { hasher.combine(digits) } else { hasher.combine(text) }
    }
}

extension JSONNumber: CustomStringConvertible {
    /// The text of the number.
    public var description: String { text }
}
