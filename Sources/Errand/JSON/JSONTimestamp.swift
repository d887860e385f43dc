import Foundation

/// Formats and parses the date-times of RFC 3339, rejecting days that do not exist.
enum JSONTimestamp {
    // 64 bits on watches too, where an `Int` has 32.
    private static let secondsPerDay: Int64 = 86_400

    /// Returns the text in UTC, or `nil` for a date outside the years 0 to 9999.
    static func text(for date: Date, milliseconds: Bool) -> String? {
        let seconds = date.timeIntervalSince1970
        // From 0000-01-01 up to 10000-01-01.
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return nil }
        // Rounded first, so that 1.9996 s does not become 1.1000 s; without milliseconds, the fraction is omitted.
        let total = milliseconds ? Int64((seconds * 1000).rounded()) : Int64(seconds.rounded(.down)) * 1000
        let wholeSeconds = CivilDate.floorDivision(total, 1000)
        let days = CivilDate.floorDivision(wholeSeconds, secondsPerDay)
        let second = wholeSeconds - days * secondsPerDay
        let (year, month, day) = CivilDate.civil(fromDays: Int(days))
        guard year <= 9999 else { return nil }
        var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
        text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        if milliseconds { text += "." + padded(total - wholeSeconds * 1000, 3) }
        return text + "Z"
    }

    /// Returns the date of a text, or `nil` if the text is not a date-time as defined by RFC 3339, section 5.6.
    static func date(from text: String) -> Date? {
        var reader = DigitReader(rest: Array(text.utf8)[...])
        guard let year = reader.number(digits: 4), reader.take("-"),
            let month = reader.number(digits: 2), reader.take("-"),
            let day = reader.number(digits: 2), reader.take("Tt "),
            let hour = reader.number(digits: 2), reader.take(":"),
            let minute = reader.number(digits: 2), reader.take(":"),
            let second = reader.number(digits: 2)
        else { return nil }
        var fraction = 0.0
        if reader.take(".") {
            guard let value = reader.fraction() else { return nil }
            fraction = value
        }
        guard let offset = reader.zoneOffset(), reader.rest.isEmpty else { return nil }
        let days = CivilDate.days(fromYear: year, month: month, day: day)
        // A day that does not exist is converted to another one. Second 60 is a leap second.
        guard (1...12).contains(month), CivilDate.civil(fromDays: days) == (year, month, day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        let whole = Int64(days) * secondsPerDay + Int64(hour * 3600 + minute * 60 + second - offset)
        return Date(timeIntervalSince1970: Double(whole) + fraction)
    }

    private static func padded(_ value: some BinaryInteger, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

/// Reads the components of a date-time from the beginning of a text.
private struct DigitReader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ choices: StaticString) -> Bool {
        guard let first = rest.first, choices.description.utf8.contains(first) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(digits: Int) -> Int? {
        guard rest.count >= digits, rest.prefix(digits).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let value = rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        rest.removeFirst(digits)
        return value
    }

    mutating func fraction() -> Double? {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest.removeFirst(digits.count)
        return digits.isEmpty ? nil : Double("0." + String(decoding: digits, as: UTF8.self))
    }

    /// Returns the offset east of UTC in seconds.
    mutating func zoneOffset() -> Int? {
        if take("Zz") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+-"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2), hours < 24,
            minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
