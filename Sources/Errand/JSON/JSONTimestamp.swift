import Foundation

/// Writes and reads the date-times of RFC 3339, and refuses days that do not exist.
enum JSONTimestamp {
    // As wide on watches, where an `Int` has 32 bits.
    private static let secondsPerDay: Int64 = 86_400

    /// The text in UTC, or `nil` for a date outside the years 0 to 9999.
    static func text(for date: Date, milliseconds: Bool) -> String? {
        let seconds = date.timeIntervalSince1970
        // 0000-01-01 up to 10000-01-01.
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return nil }
        // Rounded first, so that 1.9996 s does not become 1.1000 s; without milliseconds the fraction is cut off.
        let total = milliseconds ? Int64((seconds * 1000).rounded()) : Int64(seconds.rounded(.down)) * 1000
        let wholeSeconds = floorDivision(total, 1000)
        let days = floorDivision(wholeSeconds, secondsPerDay)
        let second = wholeSeconds - days * secondsPerDay
        let (year, month, day) = civil(fromDays: Int(days))
        guard year <= 9999 else { return nil }
        var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
        text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        if milliseconds { text += "." + padded(total - wholeSeconds * 1000, 3) }
        return text + "Z"
    }

    /// The date that `text` spells, or `nil` when it is no date-time of RFC 3339, section 5.6.
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
        let days = days(fromYear: year, month: month, day: day)
        // A day that does not exist comes back as another one. Second 60 is a leap second.
        guard (1...12).contains(month), civil(fromDays: days) == (year, month, day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        let whole = Int64(days) * secondsPerDay + Int64(hour * 3600 + minute * 60 + second - offset)
        return Date(timeIntervalSince1970: Double(whole) + fraction)
    }

    private static func padded(_ value: some BinaryInteger, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    private static func floorDivision<I: BinaryInteger>(_ value: I, _ divisor: I) -> I {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March so that the leap day
    /// comes last.
    private static func days(fromYear year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = floorDivision(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = floorDivision(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// Takes the parts of a date-time from the front of a text.
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

    /// The seconds east of UTC.
    mutating func zoneOffset() -> Int? {
        if take("Zz") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+-"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2), hours < 24,
            minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
