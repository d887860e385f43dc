/// A time of the Gregorian calendar in UTC, read from text and written to it without locale or formatter.
///
/// Patterns use the codes of `strptime`: `%a` and `%A` for a weekday, short and long, `%b` and `%m` for a month by name
/// and by number, `%d` for a day, `%e` for a day with a space or nothing in place of a zero, `%Y` and `%y` for a year of
/// four digits and of two, and `%T` for a time of day.
struct CivilTime: Sendable {
    var year = 1970
    var month = 1
    var day = 1
    /// The seconds since midnight.
    var second = 0

    /// The seconds since 1970 whose year has four digits.
    static let writable = -62_167_219_200.0..<253_402_300_800.0

    fileprivate static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    fileprivate static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    init() {}

    init(secondsSince1970 total: Int64) {
        let days = Int(Self.floorDivision(total, 86_400))
        second = Int(total - Int64(days) * 86_400)
        // Counted in years that begin in March, so that the leap day comes last.
        let shifted = days + 719_468
        let era = Self.floorDivision(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The days since 1970-01-01; a day that does not exist is counted as another one.
    private var days: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = Self.floorDivision(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The seconds since 1970, or `nil` for a day that does not exist.
    var secondsSince1970: Int64? {
        let midnight = Int64(days) * 86_400
        let other = CivilTime(secondsSince1970: midnight)
        return (other.year, other.month, other.day) == (year, month, day) ? midnight + Int64(second) : nil
    }

    static func floorDivision<I: BinaryInteger>(_ value: I, _ divisor: I) -> I {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    /// Returns the text in the form of a pattern.
    func text(_ pattern: StaticString) -> String {
        var text: [UInt8] = []
        func append(_ number: Int, _ width: Int) {
            let digits = String(number).utf8
            text += Array(repeating: 0x30, count: max(0, width - digits.count)) + digits
        }
        pattern.forEachCode { code, isField in
            switch code {
            case _ where !isField: text.append(code)
            // 1970-01-01 was a Thursday.
            case UInt8(ascii: "a"): text += Self.weekdays[(days % 7 + 11) % 7].utf8.prefix(3)
            case UInt8(ascii: "b"): text += Self.months[month - 1].utf8
            case UInt8(ascii: "d"): append(day, 2)
            case UInt8(ascii: "m"): append(month, 2)
            case UInt8(ascii: "Y"): append(year, 4)
            default:
                append(second / 3600, 2)
                text.append(UInt8(ascii: ":"))
                append(second / 60 % 60, 2)
                text.append(UInt8(ascii: ":"))
                append(second % 60, 2)
            }
            return true
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension StaticString {
    /// Calls a closure with each byte, and with whether it is the code of a component, until it returns `false`.
    @discardableResult
    fileprivate func forEachCode(_ body: (UInt8, _ isField: Bool) -> Bool) -> Bool {
        var isField = false
        for code in UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) {
            if !isField, code == UInt8(ascii: "%") {
                isField = true
                continue
            }
            guard body(code, isField) else { return false }
            isField = false
        }
        return true
    }
}

/// Reads a ``CivilTime`` from the beginning of a text; names and letters are compared ignoring case.
struct DateReader {
    var rest: ArraySlice<UInt8>
    private(set) var time = CivilTime()

    init(_ text: some Sequence<UInt8>) { rest = Array(text)[...] }

    /// Reads what a pattern describes, or returns `false`.
    mutating func read(_ pattern: StaticString) -> Bool {
        pattern.forEachCode { code, isField in isField ? readField(code) : take(code) }
    }

    mutating func take(_ byte: UInt8) -> Bool { take(CollectionOfOne(byte)) }

    private mutating func readField(_ code: UInt8) -> Bool {
        switch code {
        case UInt8(ascii: "a"): index(in: CivilTime.weekdays, length: 3) != nil
        case UInt8(ascii: "A"): index(in: CivilTime.weekdays, length: .max) != nil
        case UInt8(ascii: "b"): Self.set(&time.month, index(in: CivilTime.months, length: 3).map { $0 + 1 })
        case UInt8(ascii: "m"): Self.set(&time.month, number(2))
        case UInt8(ascii: "d"): Self.set(&time.day, number(2))
        case UInt8(ascii: "e"): Self.set(&time.day, number(2) ?? dayOfOneDigit())
        case UInt8(ascii: "Y"): Self.set(&time.year, number(4))
        case UInt8(ascii: "y"): Self.set(&time.year, number(2))
        default: Self.set(&time.second, timeOfDay())
        }
    }

    private static func set(_ component: inout Int, _ value: Int?) -> Bool {
        component = value ?? component
        return value != nil
    }

    /// Reads a number of exactly so many digits, whatever follows.
    mutating func number(_ digits: Int) -> Int? {
        guard rest.count >= digits, rest.prefix(digits).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        defer { rest.removeFirst(digits) }
        return rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private mutating func dayOfOneDigit() -> Int? {
        _ = take(0x20)
        return number(1)
    }

    /// Reads the seconds since midnight; second 60 is a leap second.
    private mutating func timeOfDay() -> Int? {
        guard let hour = number(2), take(0x3A), let minute = number(2), take(0x3A), let second = number(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Reads one of some names; only their first characters are compared.
    private mutating func index(in names: [String], length: Int) -> Int? {
        names.firstIndex { take($0.utf8.prefix(length)) }
    }

    private mutating func take(_ text: some Collection<UInt8>) -> Bool {
        let isThere =
            rest.count >= text.count
            && zip(rest, text).allSatisfy { $0 == $1 || ($0 ^ $1 == 0x20 && 0x61...0x7A ~= $0 | 0x20) }
        if isThere { rest.removeFirst(text.count) }
        return isThere
    }
}

extension DateReader {
    /// Reads the date of a cookie: day, month, year and time in any order and between any separators (RFC 6265, section
    /// 5.1.1).
    ///
    /// - Parameter text: The text, such as `Wed, 09-Jun-21 10:18:14 GMT`; whatever zone is named, it is UTC.
    /// - Returns: The time, or `nil` if a part is missing or invalid.
    static func cookieTime(_ text: String) -> CivilTime? {
        var time = CivilTime()
        var missing = Set("Tdby")
        for token in text.utf8.split(whereSeparator: isCookieDelimiter) {
            var reader = DateReader(token)
            if missing.contains("T"), let second = reader.looseTime() {
                time.second = second
                missing.remove("T")
            } else if missing.contains("d"), let day = reader.loose(1...2) {
                time.day = day
                missing.remove("d")
            } else if missing.contains("b"), reader.read("%b") {
                time.month = reader.time.month
                missing.remove("b")
            } else if missing.contains("y"), let year = reader.loose(2...4) {
                time.year = year < 70 ? year + 2000 : year < 100 ? year + 1900 : year
                missing.remove("y")
            }
        }
        return missing.isEmpty && time.year >= 1601 ? time : nil
    }

    private static func isCookieDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Reads a number if it has so many digits; if not, nothing is read.
    private mutating func loose(_ digits: ClosedRange<Int>) -> Int? {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        return digits.contains(count) ? number(count) : nil
    }

    private mutating func looseTime() -> Int? {
        var copy = self
        guard let hour = copy.loose(1...2), copy.take(0x3A), let minute = copy.loose(1...2), copy.take(0x3A),
            let second = copy.loose(1...2), hour < 24, minute < 60, second < 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }
}
