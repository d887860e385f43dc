#if os(Linux)
internal import Errand
internal import Foundation

/// The exchanges with each host, of which no more run at once over HTTP/1 than there may be connections.
///
/// libcurl would begin those that wait, search for a connection, and do both again later: up to three times for each.
struct HostQueues {
    private struct Host {
        /// Whether a connection carries one exchange at a time, as far as is known.
        var isHTTP1: Bool
        var runningCount = 0
        /// Those that wait, from ``first``; some may have ended meanwhile.
        var waiting: [CurlExchange] = []
        var first = 0
        var endedCount = 0

        mutating func next() -> CurlExchange? {
            while first < waiting.count {
                let exchange = waiting[first]
                first += 1
                guard exchange.hasEnded else { return exchange }
                endedCount -= 1
            }
            if first > 0 { (waiting, first) = ([], 0) }
            return nil
        }

        mutating func compact() {
            waiting = waiting[first...].filter { !$0.hasEnded }
            (first, endedCount) = (0, 0)
        }
    }

    /// The maximum number of hosts that are remembered without an exchange.
    private static let maximumIdleCount = 256

    /// The maximum number of connections to a host; 0 is no limit.
    private let limit: Int
    private let version: CurlTransport.Configuration.HTTPVersion
    private var hosts: [String: Host] = [:]

    init(limit: Int, _ version: CurlTransport.Configuration.HTTPVersion) {
        (self.limit, self.version) = (limit, version)
    }

    /// Adds an exchange; returns whether it may begin, and otherwise it waits.
    mutating func add(_ exchange: CurlExchange) -> Bool {
        guard limit > 0 else { return true }
        let isSecure = exchange.host.hasPrefix("https:")
        let isHTTP1 = version == .http1 || version == .automatic && !isSecure
        return Self.add(exchange, to: &hosts[exchange.host, default: Host(isHTTP1: isHTTP1)], limit)
    }

    private static func add(_ exchange: CurlExchange, to host: inout Host, _ limit: Int) -> Bool {
        if host.isHTTP1, host.runningCount >= limit {
            if host.first > 64, host.first > host.waiting.count / 2 { host.compact() }
            host.waiting.append(exchange)
            return false
        }
        host.runningCount += 1
        return true
    }

    /// Removes an exchange that has begun.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - usedHTTP1: Whether its response was one of HTTP/1, or `nil` if there was none.
    /// - Returns: Those that have waited and may begin now.
    mutating func remove(_ exchange: CurlExchange, usedHTTP1: Bool?) -> [CurlExchange] {
        guard limit > 0, var host = hosts[exchange.host] else { return [] }
        host.runningCount -= 1
        if let usedHTTP1 { host.isHTTP1 = usedHTTP1 }
        var begun: [CurlExchange] = []
        while !host.isHTTP1 || host.runningCount < limit, let next = host.next() {
            host.runningCount += 1
            begun.append(next)
        }
        let isForgotten = host.runningCount == 0 && hosts.count > Self.maximumIdleCount
        hosts[exchange.host] = isForgotten ? nil : host
        return begun
    }

    /// Notes that an exchange has ended while it waited.
    mutating func noteEnd(of exchange: CurlExchange) {
        guard var host = hosts[exchange.host] else { return }
        host.endedCount += 1
        if host.endedCount > 64, host.endedCount > (host.waiting.count - host.first) / 2 { host.compact() }
        hosts[exchange.host] = host
    }

    /// The exchanges that wait.
    var waiting: [CurlExchange] { hosts.values.flatMap { host in host.waiting[host.first...].filter { !$0.hasEnded } } }
}
#endif
