#if os(Linux)
internal import Errand
internal import Foundation

/// The exchanges with each host; over HTTP/1, no more of them run at once than there may be connections.
///
/// libcurl would begin the waiting ones, search for a connection, and repeat both up to three times for each.
struct HostQueues {
    private struct Host {
        /// Whether a connection carries one exchange at a time, as far as is known.
        var isHTTP1: Bool
        var runningCount = 0
        /// The waiting exchanges, from ``first``; `nil` for those that began or ended meanwhile, so that their bodies
        /// are released.
        var waiting: [CurlExchange?] = []
        var first = 0
        var endedCount = 0

        /// Adds an exchange; returns whether it may begin rather than wait.
        mutating func add(_ exchange: CurlExchange, _ limit: Int) -> Bool {
            if isHTTP1, runningCount >= limit {
                if first > 64, first > waiting.count / 2 { compact() }
                exchange.place = waiting.count
                waiting.append(exchange)
                return false
            }
            runningCount += 1
            return true
        }

        mutating func next() -> CurlExchange? {
            while first < waiting.count {
                let exchange = waiting[first].take()
                first += 1
                if let exchange { return exchange }
                endedCount -= 1
            }
            if first > 0 { (waiting, first) = ([], 0) }
            return nil
        }

        /// Counts the end of an exchange that ran; returns the waiting exchanges that may begin now.
        mutating func leave(_ usedHTTP1: Bool?, _ limit: Int) -> [CurlExchange] {
            runningCount -= 1
            if let usedHTTP1 { isHTTP1 = usedHTTP1 }
            var begun: [CurlExchange] = []
            while !isHTTP1 || runningCount < limit, let next = next() {
                runningCount += 1
                begun.append(next)
            }
            return begun
        }

        mutating func noteEnd(of exchange: CurlExchange) {
            waiting[exchange.place] = nil
            endedCount += 1
            if endedCount > 64, endedCount > (waiting.count - first) / 2 { compact() }
        }

        var isBusy: Bool { runningCount > 0 || hasWaiting }
        var hasWaiting: Bool { waiting.count - first > endedCount }

        mutating func compact() {
            waiting = waiting[first...].filter { $0 != nil }
            (first, endedCount) = (0, 0)
            for (place, exchange) in waiting.enumerated() { exchange?.place = place }
        }
    }

    /// The maximum number of connections to a host; 0 is no limit.
    private let limit: Int
    private let version: CurlTransport.Configuration.HTTPVersion
    private var hosts = HostTable<String, Host>(limit: 512)

    init(limit: Int, _ version: CurlTransport.Configuration.HTTPVersion) {
        (self.limit, self.version) = (limit, version)
    }

    /// Adds an exchange; returns whether it may begin rather than wait.
    mutating func add(_ exchange: CurlExchange) -> Bool {
        guard limit > 0 else { return true }
        let isSecure = exchange.host.hasPrefix("https:")
        let isHTTP1 = version == .http1 || version == .automatic && !isSecure
        return change(exchange, default: Host(isHTTP1: isHTTP1)) { [limit] in $0.add(exchange, limit) }
    }

    /// Removes an exchange that has begun.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - usedHTTP1: Whether its response used HTTP/1, or `nil` if there was none.
    /// - Returns: The waiting exchanges that may begin now.
    mutating func remove(_ exchange: CurlExchange, usedHTTP1: Bool?) -> [CurlExchange] {
        guard limit > 0 else { return [] }
        return change(exchange, default: Host(isHTTP1: true, runningCount: 1)) { [limit] in
            $0.leave(usedHTTP1, limit)
        }
    }

    /// Whether exchanges wait for the host of another one.
    func hasWaiting(for exchange: CurlExchange) -> Bool {
        hosts[exchange.host]?.hasWaiting ?? false
    }

    /// Notes that an exchange has ended while it waited.
    mutating func noteEnd(of exchange: CurlExchange) {
        guard hosts[exchange.host] != nil else { return }
        change(exchange, default: Host(isHTTP1: true)) { $0.noteEnd(of: exchange) }
    }

    private mutating func change<Value>(
        _ exchange: CurlExchange,
        default host: @autoclosure () -> Host,
        _ body: (inout Host) -> Value
    ) -> Value {
        hosts.change(exchange.host, default: host(), isBusy: \.isBusy, body)
    }

    /// The exchanges that wait.
    var waiting: [CurlExchange] { hosts.states.flatMap { host in host.waiting[host.first...].compactMap(\.self) } }
}
#endif
