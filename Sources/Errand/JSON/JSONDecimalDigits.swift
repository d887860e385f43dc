/// The exact value of a number: its digits without zeros at either end, and the power of ten of the last one.
///
/// This form is unique, so equal forms mean equal values.
struct JSONDecimalDigits: Hashable {
    /// The ASCII digits; empty for zero.
    private(set) var digits: [UInt8] = []

    /// The power of ten by which the digits, read as an integer, are multiplied; 0 for zero.
    private(set) var exponent = 0

    /// Whether the number is less than zero, which minus zero is not.
    private(set) var isNegative = false

    /// Creates the form of a number's text, or returns `nil` if the exponent does not fit an `Int`.
    ///
    /// - Parameter text: A validated number.
    init?(_ text: String) {
        let parts = text.utf8.split { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        let mantissa = parts[0].drop { $0 == UInt8(ascii: "-") }
        let fraction = mantissa.drop { $0 != UInt8(ascii: ".") }.dropFirst()
        digits = Array(mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") })
        guard !digits.isEmpty else { return }
        isNegative = text.hasPrefix("-")
        let zeroCount = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeLast(zeroCount)
        guard let written = parts.count > 1 ? Int(String(Substring(parts[1]))) : 0 else { return nil }
        let (sum, overflows) = written.addingReportingOverflow(zeroCount - fraction.count)
        guard !overflows else { return nil }
        exponent = sum
    }
}
