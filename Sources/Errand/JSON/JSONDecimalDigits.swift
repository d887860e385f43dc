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
        var exponentText: Substring = ""
        var fractionCount = 0
        var isInFraction = false
        var rest = text[...]
        if rest.first == "-" {
            isNegative = true
            rest = rest.dropFirst()
        }
        for (index, byte) in zip(rest.utf8.indices, rest.utf8) {
            switch byte {
            case UInt8(ascii: "."): isInFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): exponentText = rest[rest.utf8.index(after: index)...]
            default:
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
                if isInFraction { fractionCount += 1 }
            }
            if !exponentText.isEmpty { break }
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        guard !digits.isEmpty else {
            isNegative = false
            exponent = 0
            return
        }
        if !exponentText.isEmpty {
            guard let written = Int(String(exponentText)) else { return nil }
            let (sum, overflows) = exponent.addingReportingOverflow(written)
            guard !overflows else { return nil }
            exponent = sum
        }
        let (shifted, overflows) = exponent.subtractingReportingOverflow(fractionCount)
        guard !overflows else { return nil }
        exponent = shifted
    }
}
