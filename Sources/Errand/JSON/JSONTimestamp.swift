package import Foundation

/// Formats and parses the date-times of RFC 3339, rejecting days that do not exist.
package enum JSONTimestamp {
    /// Returns the text in UTC, or `nil` for a date outside the years 0 to 9999.
    package static func text(for date: Date, milliseconds: Bool) -> String? {
        let seconds = date.timeIntervalSince1970
        guard CivilTime.writable.contains(seconds) else { return nil }
        // Rounded first, so that 1.9996 s does not become 1.1000 s; without milliseconds, the fraction is omitted.
        let total = milliseconds ? Int64((seconds * 1000).rounded()) : Int64(seconds.rounded(.down)) * 1000
        let wholeSeconds = CivilTime.floorDivision(total, 1000)
        let time = CivilTime(secondsSince1970: wholeSeconds)
        guard time.year <= 9999 else { return nil }
        let fraction = String(1000 + total - wholeSeconds * 1000).dropFirst()
        return time.text("%Y-%m-%dT%T") + (milliseconds ? ".\(fraction)Z" : "Z")
    }

    /// Returns the date of a text, or `nil` if the text is not a date-time as defined by RFC 3339, section 5.6; the colon or the
    /// minutes of the offset may be missing.
    static func date(from text: String) -> Date? {
        var reader = DateReader(text.utf8)
        guard reader.read("%Y-%m-%d"), reader.take(UInt8(ascii: "T")) || reader.take(0x20), reader.read("%T"),
            let seconds = reader.time.secondsSince1970
        else { return nil }
        var fraction = 0.0
        if reader.take(UInt8(ascii: ".")) {
            let digits = reader.rest.prefix { (0x30...0x39).contains($0) }
            guard let value = Double("0." + String(decoding: digits, as: UTF8.self)), !digits.isEmpty else {
                return nil
            }
            reader.rest.removeFirst(digits.count)
            fraction = value
        }
        guard let offset = zoneOffset(&reader), reader.rest.isEmpty else { return nil }
        return Date(timeIntervalSince1970: Double(seconds - Int64(offset)) + fraction)
    }

    /// Reads the offset east of UTC in seconds, with or without a colon, as ISO 8601 allows.
    private static func zoneOffset(_ reader: inout DateReader) -> Int? {
        if reader.take(UInt8(ascii: "Z")) { return 0 }
        let isWest = reader.take(UInt8(ascii: "-"))
        guard isWest || reader.take(UInt8(ascii: "+")), let hours = reader.number(2) else { return nil }
        // PostgreSQL omits the minutes.
        let isShort = reader.rest.isEmpty
        if !isShort { _ = reader.take(UInt8(ascii: ":")) }
        guard let minutes = isShort ? 0 : reader.number(2), hours < 24, minutes < 60 else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
