internal import Foundation

/// The delay that a response's Retry-After and rate-limit fields request.
enum RetryAfter {
    /// The names of the fields, in descending precedence.
    ///
    /// `Retry-After` applies to any status, and so does its more exact form in milliseconds, which Azure and OpenAI send in
    /// addition. The others are also sent with successes, and request a delay only if the status indicates that a limit was
    /// exceeded; a reset only if nothing is left of its quota. A 403 indicates that only if its quota is used up.
    private static let fields = [
        "Retry-After-Ms", "Retry-After", "RateLimit-Reset", "X-RateLimit-Retry-After", "X-RateLimit-Reset",
        "X-Rate-Limit-Reset",
    ]
    private static let limitingStatuses = [413, 429, 503]

    /// 2024-01-01; a greater number of seconds in a reset field is a point in time.
    private static let firstEpoch: Int64 = 1_704_067_200

    /// The year 5138 in seconds; a greater number in a reset field is a point in time in milliseconds.
    private static let firstMilliseconds: Int64 = 100_000_000_000

    /// The maximum number of seconds, 30,000 years, which cannot overflow in sums.
    private static let mostSeconds: Int64 = 1 << 40

    /// Returns the delay that the server requests, or `nil` if it requests none or the fields are malformed.
    ///
    /// Each field may contain a number of seconds or a date, `Retry-After-Ms` a number of milliseconds, and a reset field the
    /// milliseconds since 1970; a malformed field is ignored, and so is one with lines that differ. Reads each byte once or
    /// twice, whatever the content. Source: RFC 9110, section 10.2.3.
    ///
    /// - Parameters:
    ///   - statusCode: The status of the response.
    ///   - headers: The header fields of the response.
    ///   - now: The current date, used if the response has no `Date`. The server's is preferred, because it is not subject to
    ///     clock skew.
    /// - Returns: A delay of zero or more, or `nil` for the retry policy's own.
    static func pause(statusCode: Int, headers: HTTPHeaders, now: Date) -> Duration? {
        if statusCode == 403 { return pause(headers, fields[...], needsUsedQuota: true, now: now) }
        return pause(headers, fields.prefix(limitingStatuses.contains(statusCode) ? fields.count : 2), now: now)
    }

    /// Returns the time until the reset of a quota of which nothing is left, or `nil` if there is none.
    static func timeToReset(_ headers: HTTPHeaders, now: Date) -> Duration? {
        pause(headers, fields.dropFirst(2), needsUsedQuota: true, now: now)
    }

    /// Whether a response reports that a limit was exceeded: a 429, or a 403 that requests a delay, as GitHub's do.
    static func isLimit(_ response: RawResponse) -> Bool {
        switch response.statusCode {
        case 429: true
        case 403: pause(statusCode: 403, headers: response.headers, now: .distantPast) != nil
        default: false
        }
    }

    /// Returns the time over which what waits for one time is spread, so that it does not come all at once.
    static func spread(of wait: Duration) -> Duration { min(wait / 10, .seconds(5)) }

    private static func pause(
        _ headers: HTTPHeaders,
        _ fields: ArraySlice<String>,
        needsUsedQuota: Bool = false,
        now: Date
    ) -> Duration? {
        for field in fields {
            guard let value = single(field, in: headers) else { continue }
            if field == "Retry-After-Ms" {
                guard let number = Number(value) else { continue }
                return number.duration / 1000
            }
            if field.hasSuffix("Reset") {
                if remaining(of: field, headers).map({ $0 > .zero }) ?? needsUsedQuota { continue }
            } else if needsUsedQuota, field != "Retry-After" {
                continue
            }
            let isReset = field != "Retry-After"
            if let number = Number(value) {
                guard isReset, number.seconds >= firstEpoch else { return number.duration }
                return max(.zero, number.timeSince1970 - present(headers, now: now))
            }
            if let date = HTTPDate.date(from: value, now: now) {
                return max(.zero, date.timeSince1970 - present(headers, now: now))
            }
        }
        return nil
    }

    /// Returns what is left of a reset field's quota, or `nil` if it is not known.
    ///
    /// Above zero, another limit was exceeded, or none.
    private static func remaining(of reset: String, _ headers: HTTPHeaders) -> Duration? {
        single(String(reset.dropLast("Reset".count)) + "Remaining", in: headers).flatMap { Number($0)?.duration }
    }

    /// Returns the value of a field, or `nil` if there is none.
    ///
    /// Two equal lines, which URLSession joins by a comma, are one. Lines that differ are no number and no date.
    private static func single(_ name: String, in headers: HTTPHeaders) -> String? {
        guard headers.contains(name) else { return nil }
        let bytes = headers.values(for: name).joined(separator: ",").utf8
        let half = bytes.prefix(max(0, bytes.count - 1) / 2)
        let isDouble =
            bytes.suffix(half.count).elementsEqual(half)
            && bytes.dropFirst(half.count).dropLast(half.count).trimming().elementsEqual(",".utf8)
        return String(Substring(isDouble ? half : bytes[...]))
    }

    /// Returns the time since 1970 by the server's clock, if the response has a `Date`.
    private static func present(_ headers: HTTPHeaders, now: Date) -> Duration {
        (single("Date", in: headers).flatMap { HTTPDate.date(from: $0, now: now) } ?? now).timeSince1970
    }

    /// A number of digits, with an optional fraction.
    private struct Number {
        /// The whole seconds, or milliseconds.
        var seconds: Int64 = 0
        private var nanoseconds: Int64 = 0

        var duration: Duration { .seconds(min(seconds, mostSeconds)) + .nanoseconds(nanoseconds) }

        /// The point in time that the number is in a reset field.
        var timeSince1970: Duration {
            guard seconds >= firstMilliseconds else { return duration }
            return .seconds(min(seconds / 1000, mostSeconds)) + .milliseconds(seconds % 1000)
        }

        init?(_ text: String) {
            var cursor = FieldCursor(text)
            cursor.skipSpace()
            guard let whole = cursor.number(clamping: true) else { return nil }
            seconds = Int64(whole)
            if cursor.take(UInt8(ascii: ".")) {
                let digits = cursor.text(while: \.isASCIIDigit)
                guard let parts = Int64((digits + "00000000").prefix(9)), !digits.isEmpty else { return nil }
                nanoseconds = parts
            }
            cursor.skipSpace()
            guard cursor.isAtEnd else { return nil }
        }
    }
}
