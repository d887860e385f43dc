internal import Foundation

/// The dates of cookies, which are parsed more leniently than those of other fields (RFC 6265, section 5.1.1).
enum CookieDate {
    /// Returns the date of a text, or `nil` if a part is missing or the date does not exist.
    ///
    /// - Parameter text: Day, month, year and time in any order and between any separators, such as
    ///   `Wed, 09-Jun-21 10:18:14 GMT`.
    /// - Returns: The date, in whole seconds; the time zone is always GMT.
    static func date(from text: String) -> Date? {
        var time: Int?
        var (day, month, year): (Int?, Int?, Int?) = (nil, nil, nil)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }
        guard let time, let day, let month, let year, year >= 1601 else { return nil }
        let days = CivilDate.days(fromYear: year, month: month, day: day)
        guard CivilDate.civil(fromDays: days) == (year, month, day) else { return nil }
        return Date(timeIntervalSince1970: Double(Int64(days) * 86_400 + Int64(time)))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Returns the number of digits at the beginning that are not followed by another one, or `nil`.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let text = token.prefix { $0.isASCIIDigit }
        guard digits.contains(text.count) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        guard let name = String(token.prefix(3))?.lowercased() else { return nil }
        return names.firstIndex(of: name).map { $0 + 1 }
    }

    /// Returns the seconds since midnight of `hh:mm:ss`, or `nil`.
    private static func time(_ token: Substring.UTF8View) -> Int? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2,
            let hour = number(parts[0], digits: 1...2), parts[0].allSatisfy(\.isASCIIDigit), hour < 24,
            let minute = number(parts[1], digits: 1...2), parts[1].allSatisfy(\.isASCIIDigit), minute < 60,
            let second = number(parts[2], digits: 1...2), second < 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }
}
