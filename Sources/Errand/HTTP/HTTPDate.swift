internal import Foundation

/// Formats and parses the dates of HTTP header fields (RFC 9110, section 5.6.7), and parses the dates of cookies.
///
/// Three formats are parsed, and one is written. Names are compared ignoring case, as RFC 9111, section 4.2, allows.
/// The name of the weekday must be valid, but need not match the date. A day of one digit and `UTC` in place of `GMT`, which
/// some servers send, are parsed too.
enum HTTPDate {
    /// Returns the text in the form `Sun, 06 Nov 1994 08:49:37 GMT`, or `nil` for a date outside the years 0 to 9999.
    static func text(for date: Date) -> String? {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        guard CivilTime.writable.contains(seconds) else { return nil }
        return CivilTime(secondsSince1970: Int64(seconds)).text("%a, %d %b %Y %T GMT")
    }

    /// Returns the date of a text, or `nil` if the text is not a date.
    ///
    /// - Parameters:
    ///   - text: IMF-fixdate, or one of the two obsolete formats, of RFC 850 and of `asctime`.
    ///   - now: The current date, which determines the century of a two-digit year: the latest that is not more than 50
    ///     years in the future.
    /// - Returns: The date, in whole seconds.
    static func date(from text: String, now: Date) -> Date? {
        let bytes = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        // The longest form has 33 bytes; a longer text is rejected before it is copied.
        guard let end = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }), bytes[...end].count <= 33 else {
            return nil
        }
        let start = DateReader(bytes[...end])
        func read(_ pattern: StaticString, hasZone: Bool = true) -> CivilTime? {
            var reader = start
            let isRead = reader.read(pattern) && (!hasZone || reader.read("GMT") || reader.read("UTC"))
            return isRead && reader.rest.isEmpty ? reader.time : nil
        }
        if let time = read("%a, %e %b %Y %T ") ?? read("%a %b %e %T %Y", hasZone: false) { return Date(time) }
        guard var time = read("%A, %e-%b-%y %T ") else { return nil }
        let present = min(max(Double(now.timeSince1970.components.seconds), 0), CivilTime.writable.upperBound - 1)
        let latest = CivilTime(secondsSince1970: Int64(present)).year + 50
        time.year = latest - (latest - time.year) % 100
        if let date = Date(time), date.timeIntervalSince1970 <= present + 50 * 31_556_952 { return date }
        time.year -= 100
        return Date(time)
    }

    /// Returns the date of a cookie, or `nil` if a part is missing or the date does not exist (RFC 6265, section 5.1.1).
    static func cookieDate(from text: String) -> Date? { DateReader.cookieTime(text).flatMap(Date.init) }
}

extension Date {
    /// Creates the date of a time, or returns `nil` for a day that does not exist.
    fileprivate init?(_ time: CivilTime) {
        guard let seconds = time.secondsSince1970 else { return nil }
        self.init(timeIntervalSince1970: Double(seconds))
    }

    /// The time since 1970, exact to the microsecond, limited to 30,000 years before and after; zero if it is not a
    /// number.
    var timeSince1970: Duration {
        let limit = Double(1 << 40 as Int64)
        let seconds = timeIntervalSince1970.isNaN ? 0 : min(max(timeIntervalSince1970, -limit), limit)
        let whole = seconds.rounded(.down)
        return .seconds(Int64(whole)) + .microseconds(Int64(((seconds - whole) * 1e6).rounded()))
    }
}
