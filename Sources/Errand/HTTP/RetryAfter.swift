internal import Foundation

/// What an answer says about when to come back.
enum RetryAfter {
    /// The fields that say it, the one that counts most first.
    ///
    /// `Retry-After` counts whatever the status. The others are sent with successes and failures alike, and say when
    /// to come back only where the status says that there was too much.
    private static let fields = [
        "Retry-After", "RateLimit-Reset", "X-RateLimit-Retry-After", "X-RateLimit-Reset", "X-Rate-Limit-Reset",
    ]
    private static let limitingStatuses = [413, 429, 503]

    /// 2024-01-01: a greater number of seconds in a reset field is a point in time.
    private static let firstEpoch: Int64 = 1_704_067_200

    /// What a number beyond all reason counts as: 30,000 years, far from where sums overflow.
    private static let mostSeconds: Int64 = 1 << 40

    /// The pause that the server asks for, or `nil` when it asks for none in a form that can be read.
    ///
    /// Each field may hold a number of seconds or a date; one that is malformed, or stands there twice, does not count.
    /// Reads each byte once or twice, whatever they are. Source: RFC 9110, section 10.2.3.
    ///
    /// - Parameters:
    ///   - statusCode: The status of the answer.
    ///   - headers: The fields of the answer.
    ///   - now: The present where the answer has no `Date`, which is better: one server's clock cannot disagree with
    ///     itself.
    /// - Returns: Zero or more; `nil` for the usual pause.
    static func pause(statusCode: Int, headers: HTTPHeaders, now: Date) -> Duration? {
        let count = limitingStatuses.contains(statusCode) ? fields.count : 1
        for field in fields.prefix(count) {
            guard let value = single(field, in: headers) else { continue }
            let isReset = field != "Retry-After"
            if let number = Number(value.utf8) {
                guard isReset, number.seconds >= firstEpoch else { return number.duration }
                return max(.zero, number.duration - present(headers, now: now))
            }
            if let date = HTTPDate.date(from: value, now: now) {
                return max(.zero, date.timeSince1970 - present(headers, now: now))
            }
        }
        return nil
    }

    private static func single(_ name: String, in headers: HTTPHeaders) -> String? {
        var found: String?
        for field in headers where field.name.isSameFieldName(as: name) {
            if found != nil { return nil }
            found = field.value
        }
        return found
    }

    /// The time since 1970, as the server sees it.
    private static func present(_ headers: HTTPHeaders, now: Date) -> Duration {
        (single("Date", in: headers).flatMap { HTTPDate.date(from: $0, now: now) } ?? now).timeSince1970
    }

    /// Digits, and perhaps a fraction.
    private struct Number {
        /// The whole seconds, ``mostSeconds`` at most.
        var seconds: Int64 = 0
        private var nanoseconds: Int64 = 0

        var duration: Duration { .seconds(seconds) + .nanoseconds(nanoseconds) }

        init?(_ text: String.UTF8View) {
            var hasDigit = false
            var point: Int64?
            var isOver = false
            for byte in text {
                switch byte {
                case 0x20, 0x09: isOver = isOver || hasDigit || point != nil
                case 0x30...0x39 where !isOver:
                    hasDigit = true
                    let digit = Int64(byte - 0x30)
                    if let unit = point {
                        nanoseconds += unit * digit
                        point = unit / 10
                    } else {
                        seconds = min(seconds * 10 + digit, mostSeconds)
                    }
                case 0x2E where hasDigit && point == nil && !isOver:
                    point = 100_000_000
                    hasDigit = false
                default: return nil
                }
            }
            if !hasDigit { return nil }
        }
    }
}
