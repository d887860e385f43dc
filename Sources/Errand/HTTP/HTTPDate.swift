internal import Foundation

/// Formats and parses the dates of HTTP header fields (RFC 9110, section 5.6.7).
///
/// Three formats are parsed, and one is written. Names are compared ignoring case, as RFC 9111, section 4.2, allows.
/// The name of the weekday must be valid, but need not match the date.
enum HTTPDate {
    /// Returns the text in the form `Sun, 06 Nov 1994 08:49:37 GMT`, or `nil` for a date outside the years 0 to 9999.
    static func text(for date: Date) -> String? {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return nil }
        let total = Int64(seconds)
        let days = Int(CivilDate.floorDivision(total, 86_400))
        let second = Int(total - Int64(days) * 86_400)
        let (year, month, day) = CivilDate.civil(fromDays: days)
        // 1970-01-01 was a Thursday.
        let weekday = (days % 7 + 11) % 7
        return "\(weekdays[weekday].prefix(3)), \(padded(day, 2)) \(months[month - 1]) \(padded(year, 4)) "
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2)) GMT"
    }

    /// Returns the date of a text, or `nil` if the text is not a date.
    ///
    /// - Parameters:
    ///   - text: IMF-fixdate, or one of the two obsolete formats, those of RFC 850 and of `asctime`.
    ///   - now: The current date, which determines the century of a two-digit year: the latest that is not more than 50
    ///     years in the future.
    /// - Returns: The date, in whole seconds.
    static func date(from text: String, now: Date) -> Date? {
        let bytes = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        // The longest form has 33 bytes; a longer text is rejected before it is copied.
        guard let end = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }), bytes[...end].count <= 33 else {
            return nil
        }
        var reader = DateReader(rest: Array(bytes[...end])[...])
        let seconds =
            if reader.index(of: weekdays, length: .max) != nil {
                reader.take(", ") ? rfc850(&reader, now: now) : nil
            } else if reader.index(of: weekdays, length: 3) != nil {
                reader.take(", ") ? fixdate(&reader) : asctime(&reader)
            } else {
                Int64?.none
            }
        guard let seconds, reader.rest.isEmpty else { return nil }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses what follows the weekday, as in `06 Nov 1994 08:49:37 GMT`.
    private static func fixdate(_ reader: inout DateReader) -> Int64? {
        guard let day = reader.number(digits: 2), reader.take(" "), let month = reader.index(of: months, length: 3),
            reader.take(" "), let year = reader.number(digits: 4), reader.take(" "), let time = reader.time(),
            reader.take(" GMT")
        else { return nil }
        return seconds(year, month, day, time)
    }

    /// Parses what follows the weekday, as in `06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ reader: inout DateReader, now: Date) -> Int64? {
        guard let day = reader.number(digits: 2), reader.take("-"), let month = reader.index(of: months, length: 3),
            reader.take("-"), let year = reader.number(digits: 2), reader.take(" "), let time = reader.time(),
            reader.take(" GMT")
        else { return nil }
        let present = min(max(Double(now.timeSince1970.components.seconds), 0), 253_402_300_799)
        let latest = CivilDate.civil(fromDays: Int(present / 86_400)).year + 50
        let full = latest - (latest - year) % 100
        let limit = present + 50 * 31_556_952
        if let found = seconds(full, month, day, time), Double(found) <= limit { return found }
        return seconds(full - 100, month, day, time)
    }

    /// Parses what follows the weekday, as in ` Nov  6 08:49:37 1994`.
    private static func asctime(_ reader: inout DateReader) -> Int64? {
        guard reader.take(" "), let month = reader.index(of: months, length: 3), reader.take(" "),
            let day = reader.take(" ") ? reader.number(digits: 1) : reader.number(digits: 2), reader.take(" "),
            let time = reader.time(), reader.take(" "), let year = reader.number(digits: 4)
        else { return nil }
        return seconds(year, month, day, time)
    }

    /// Returns the seconds since 1970, or `nil` for a day that does not exist.
    private static func seconds(_ year: Int, _ monthIndex: Int, _ day: Int, _ time: Int) -> Int64? {
        let days = CivilDate.days(fromYear: year, month: monthIndex + 1, day: day)
        guard CivilDate.civil(fromDays: days) == (year, monthIndex + 1, day) else { return nil }
        return Int64(days) * 86_400 + Int64(time)
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Date {
    /// The time since 1970, exact to the microsecond, limited to 30,000 years before and after; zero if it is not a
    /// number.
    var timeSince1970: Duration {
        let limit = Double(1 << 40 as Int64)
        let seconds = timeIntervalSince1970.isNaN ? 0 : min(max(timeIntervalSince1970, -limit), limit)
        let whole = seconds.rounded(.down)
        return .seconds(Int64(whole)) + .microseconds(Int64(((seconds - whole) * 1e6).rounded()))
    }
}

/// Reads the components of a date from the beginning of a text.
private struct DateReader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ text: StaticString) -> Bool {
        let wanted = text.description.utf8
        guard starts(with: wanted.prefix(wanted.count)) else { return false }
        rest.removeFirst(wanted.count)
        return true
    }

    /// Returns the index in a list of the next name, of which only the first characters are compared, or `nil` for any
    /// other.
    mutating func index(of names: [String], length: Int) -> Int? {
        guard let index = names.firstIndex(where: { starts(with: $0.utf8.prefix(length)) }) else { return nil }
        rest.removeFirst(min(length, names[index].utf8.count))
        return index
    }

    mutating func number(digits: Int) -> Int? {
        guard rest.count >= digits, rest.prefix(digits).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        defer { rest.removeFirst(digits) }
        return rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Returns the seconds since midnight; second 60 is a leap second.
    mutating func time() -> Int? {
        guard let hour = number(digits: 2), take(":"), let minute = number(digits: 2), take(":"),
            let second = number(digits: 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private func starts(with text: Substring.UTF8View) -> Bool {
        rest.count >= text.count
            && zip(rest, text).allSatisfy { $0 == $1 || ($0 ^ $1 == 0x20 && ($0 | 0x20).isASCIILowercase) }
    }
}
