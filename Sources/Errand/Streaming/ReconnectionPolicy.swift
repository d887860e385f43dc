internal import Foundation

/// The rules for reconnecting to a stream of server-sent events.
///
/// A stream reconnects after every failure that may be temporary: the server ended the response, the connection was lost,
/// idle or could not be made, the status is 408, 429, 500 to 599, or a 403 that reports an exceeded limit (see
/// ``RetryPolicy/statusCodes``), the refresh of a credential failed for such a reason, or a ``CircuitBreaker`` or
/// ``Limits/minimumInterval`` rejected the connection. Every other failure is final, such as another status of 400 to
/// 499, another content type, an event that is too large, or an expired deadline. A delay that the server or the
/// rejecting policy states is respected. The policy applies after the first accepted header section; until then, the
/// request's ``RetryPolicy`` does. A request whose method is not safe is not sent again after a complete response, and a
/// request that may not be sent twice is never sent again.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The maximum number of reconnections in succession that fail before an accepted header section; the failure of the last one
    /// ends the stream.
    ///
    /// The default is 10.
    public let maximumFailures: Int

    /// The reconnection time until the server sets another one with `retry`, from ``shortestDelay`` to ``maximumDelay``.
    ///
    /// A random part of up to as much again is added to each delay. The default is 3 seconds.
    public let initialDelay: Duration

    /// The maximum delay, from ``shortestDelay`` to a day, even if the server states a longer one.
    ///
    /// The default is 60 seconds.
    public let maximumDelay: Duration

    /// The shortest reconnection time, even if the server states a shorter one: 0.1 seconds.
    public static let shortestDelay = Duration.milliseconds(100)

    /// The library default.
    public static let standard = ReconnectionPolicy()

    /// No reconnection: the stream ends with the first response.
    public static let never = ReconnectionPolicy(maximumFailures: 0)

    /// A day.
    static let longestMilliseconds: Int64 = 86_400_000

    /// Creates a policy; the defaults are ``standard``'s, and values are clamped to their ranges.
    ///
    /// With a `maximumFailures` of 0, the stream ends with the first response.
    public init(
        maximumFailures: Int = 10,
        initialDelay: Duration = .seconds(3),
        maximumDelay: Duration = .seconds(60)
    ) {
        self.maximumFailures = max(0, maximumFailures)
        self.maximumDelay = min(max(maximumDelay, Self.shortestDelay), .milliseconds(Self.longestMilliseconds))
        self.initialDelay = min(max(initialDelay, Self.shortestDelay), self.maximumDelay)
    }

    /// Returns the delay before the next connection.
    ///
    /// It is at least the reconnection time, which doubles with each failure, plus a random part of up to as much again, so that the
    /// clients of a restarted server come back one by one. A `Retry-After` is a minimum, to which up to a tenth of it, at most 5
    /// seconds, is added. The delay is at most ``maximumDelay``.
    ///
    /// - Parameters:
    ///   - failures: The number of connections in succession that failed, or 0 if the last one was accepted.
    ///   - reconnectionTime: The time that the server has set with `retry`, or `nil` if it has set none.
    ///   - retryAfter: The time of the last response's `Retry-After`, or `nil` if it has none.
    ///   - unit: A random number in 0..<1.
    /// - Returns: The delay.
    public func delay(
        afterFailures failures: Int,
        reconnectionTime: Duration? = nil,
        retryAfter: Duration? = nil,
        unit: Double
    ) -> Duration {
        var delay = min(max(reconnectionTime ?? initialDelay, Self.shortestDelay), maximumDelay)
        var doublings = failures - 1
        while doublings > 0, delay < maximumDelay {
            delay = delay * 2
            doublings -= 1
        }
        let (unit, retryAfter) = (unit > 0 ? min(unit, 1) : 0, retryAfter ?? .zero)
        return min(max(delay + delay * unit, retryAfter + RetryAfter.spread(of: retryAfter) * unit), maximumDelay)
    }

    /// Decides whether another connection may succeed after a failure.
    ///
    /// - Parameter error: The error of a connection after the first one.
    /// - Returns: Whether it may.
    func isTemporary(_ error: any Error) -> Bool {
        switch error.networkError?.reason {
        case .tooSoon?: true
        case .deadlineExceeded?: false
        default: error.networkError?.facts.isTransient == true
        }
    }

    /// Returns the minimum delay that a failure requests, or `nil` if it requests none.
    func retryAfter(_ error: any Error, now: Date) -> Duration? {
        switch (error as? NetworkError)?.reason {
        case .circuitOpen(let pause), .tooSoon(let pause): pause
        default:
            error.rawResponse.flatMap { RetryAfter.pause(statusCode: $0.statusCode, headers: $0.headers, now: now) }
        }
    }
}
